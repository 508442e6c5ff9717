"""Validation on real stores: replay, the lab, comparison, calibration, forecasts and reference cases."""
