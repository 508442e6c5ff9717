"""Client SDKs: their defaults, and their connections."""
