"""The viewer node: a third process that looks on, and speaks when a person asks it to."""
