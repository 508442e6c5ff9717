"""Readers of what applications do."""
