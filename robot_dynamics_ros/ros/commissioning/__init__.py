"""Commissioning over the middleware: an arm that reads joint states and sends efforts, and a node with a service for each step."""
