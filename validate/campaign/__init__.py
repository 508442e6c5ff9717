"""Campaigns: loads and faults of a real store in a box as a file, measured and predicted."""
