"""Many simulations with one question: sweeps, searches, sensitivity, failures."""
