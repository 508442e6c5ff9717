"""Forecasts validated on measured Runs."""
