"""References of the controller: trajectories, set-points, splicing, tolerances and results."""
