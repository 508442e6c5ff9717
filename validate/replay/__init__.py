"""A Trace issued to a real store."""
