"""References of the controller: trajectories, set-points, the way from one motion to the next,
tolerances and results.
"""
