"""ROS 2: translation of messages, parameters and two thin nodes.  Nothing else in the package imports ROS."""
