"""A model's parameters fitted to measured Runs."""
