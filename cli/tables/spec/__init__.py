"""Tables and lines on specs: fields, presets, and origins of values."""
