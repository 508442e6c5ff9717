"""Ceph's stations, and where objects are."""
