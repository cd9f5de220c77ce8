"""How control laws hold up on robots that differ from their description: ``python -m
benchmarks.differing_robots``.
"""
