"""What Swift does for each request."""
