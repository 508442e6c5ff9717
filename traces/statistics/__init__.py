"""Statistics of Runs and characteristics of Traces."""
