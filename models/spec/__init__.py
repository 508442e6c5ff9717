"""Values of specs: their paths, origins, ranges and plausibility, and what a forecast rests on."""
