"""Real stores on loopback."""
