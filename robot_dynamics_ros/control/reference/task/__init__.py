"""The reference of a tool: poses, twists and paths in space, and the joint motion that follows."""
