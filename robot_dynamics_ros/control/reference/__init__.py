"""What the controller follows: trajectories, set-points, splicing, tolerances and results."""
