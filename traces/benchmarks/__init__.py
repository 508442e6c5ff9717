"""Definitions of benchmarks as workloads."""
