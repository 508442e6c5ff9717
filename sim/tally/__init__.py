"""Figures of simulated requests that are not kept: counts and sketches, which take the same memory for any number."""
