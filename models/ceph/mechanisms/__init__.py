"""Mechanisms of Ceph as pure functions with their sources."""
