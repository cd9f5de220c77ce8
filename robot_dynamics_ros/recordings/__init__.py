"""Recorded joint states: reading CSV and bags, smoothing, joint wrenches along them, writing and drawing."""
