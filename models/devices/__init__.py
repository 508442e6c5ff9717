"""Drives and processors: their service times, and presets of them and of other sections."""
