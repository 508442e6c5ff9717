"""Ceph's spec: its sections and access."""
