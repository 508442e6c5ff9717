"""Workloads and the requests that are generated from them."""
