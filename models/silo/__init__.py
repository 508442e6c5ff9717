"""Silo, the fork of MinIO that most of its users moved to: MinIO's model with Silo's releases."""
