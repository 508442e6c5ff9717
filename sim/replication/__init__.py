"""Independent replications of a simulation, their intervals, and objectives."""
