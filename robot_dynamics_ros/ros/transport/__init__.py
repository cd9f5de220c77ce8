"""Shared by both nodes: messages, serialization, executor, parameters, diagnostics."""
