"""The formats of results, one tool a module."""
