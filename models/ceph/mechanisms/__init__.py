"""Mechanisms of Ceph as pure functions, each with its sources."""
