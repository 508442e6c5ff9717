"""Cut, sample, merge and scale Traces; export Runs."""
