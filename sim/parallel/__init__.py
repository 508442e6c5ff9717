"""Maps over threads, processes and clusters, and the results that they keep."""
