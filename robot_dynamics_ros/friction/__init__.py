"""Joint friction: the law on any scalar, what a controller compensates, effects besides speed, and
their file.
"""
