"""Readers of logs and benchmark files: one module per format, behind one interface."""
