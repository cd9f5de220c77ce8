"""The effort gate node."""
