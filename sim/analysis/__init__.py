"""What can be said of a Network without simulation."""
