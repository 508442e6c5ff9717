"""Searches for the value of one field: the limit of what meets the objectives, or the least latency."""
