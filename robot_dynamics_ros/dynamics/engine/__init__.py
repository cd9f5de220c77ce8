"""How a function of the registry runs for one robot: tracing, backends, compiled loops, code
generation.
"""
