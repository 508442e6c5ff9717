"""Maps over threads, processes and clusters, and storage of results."""
