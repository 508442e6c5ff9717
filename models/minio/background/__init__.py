"""MinIO's work without requests: healing, scanning, moving objects."""
