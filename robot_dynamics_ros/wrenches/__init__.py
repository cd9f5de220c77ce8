"""Wrenches live and from recordings, built on :mod:`robot_dynamics_ros.dynamics`; nothing here needs ROS."""
