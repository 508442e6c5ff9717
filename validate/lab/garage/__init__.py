"""Garage, started with a node on each host."""
