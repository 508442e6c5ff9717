"""What MinIO does for each request."""
