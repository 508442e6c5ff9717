"""Benchmark definitions of other tools as workloads: a module for each tool."""
