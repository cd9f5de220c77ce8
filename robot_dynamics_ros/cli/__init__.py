"""The ``robot_dynamics`` command."""
