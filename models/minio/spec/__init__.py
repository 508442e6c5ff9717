"""MinIO's spec: its sections, presets and releases."""
