"""Independent replications of a simulation, confidence intervals, and objectives."""
