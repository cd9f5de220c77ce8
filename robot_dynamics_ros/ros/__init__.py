"""ROS 2: the nodes, and the translation of their messages and parameters.

No other folder of the package imports ROS.
"""
