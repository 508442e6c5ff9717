"""Faults of a Ceph cluster, and their effects on stations, routes and placement groups."""
