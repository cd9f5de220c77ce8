"""What a person types: the ``robot_dynamics`` command."""
