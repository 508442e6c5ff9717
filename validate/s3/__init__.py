"""Clients of S3."""
