"""What a forecast rests on: assumed values with their ranges, presets, and what is probably not meant."""
