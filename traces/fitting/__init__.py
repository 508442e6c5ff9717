"""Fitting of workloads to traces: each module fits one part of a workload."""
