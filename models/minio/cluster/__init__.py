"""MinIO's stations, and where objects are."""
