"""Readers of the logs and benchmark files that stores and tools write: one module a format, one interface."""
