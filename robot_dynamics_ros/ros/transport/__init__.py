"""What both nodes share: messages, serialization, executor, parameters, diagnostics."""
