"""The spec of a new MinIO cluster, and the files that say what it is."""
