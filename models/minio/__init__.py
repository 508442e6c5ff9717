"""The model of MinIO."""
