"""Results of benchmarks: the figures that a tool reports at its end, in one table for all tools."""
