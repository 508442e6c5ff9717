"""Workloads learned from traces: each module finds one part of a workload, from what was asked."""
