"""Traces cut, scaled, sampled, merged and exported."""
