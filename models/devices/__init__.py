"""Drives and their service times."""
