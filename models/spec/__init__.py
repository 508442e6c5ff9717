"""Values of specs: their paths, origins, ranges and plausibility."""
