"""Shared by all nodes: messages, serialization, executors, parameters, diagnostics."""
