"""Swift's spec: its sections and presets."""
