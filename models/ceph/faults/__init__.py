"""Faults of a Ceph cluster: what happens to its stations, routes and placement groups, and when."""
