"""Readers of the logs of stores, one format a module."""
