"""Conversion of benchmark definitions (COSBench, gosbench, warp) into workloads."""
