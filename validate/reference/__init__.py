"""Published measurements of real stores, and their forecasts."""
