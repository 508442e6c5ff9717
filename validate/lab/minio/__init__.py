"""MinIO, started with drives that are folders."""
