"""A store's metrics as a workload, as targets of a fit, and next to a forecast."""
