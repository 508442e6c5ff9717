"""Traces (requested operations) and Runs (what happened): tables, workload generators, fitting, logs, statistics."""
