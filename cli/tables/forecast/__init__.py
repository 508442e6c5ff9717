"""Tables and sentences of a forecast: Runs, verdict, bounds, and how certain it is."""
