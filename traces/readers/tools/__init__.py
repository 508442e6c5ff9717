"""Readers of the logs of benchmarks, of published traces and of any other tables, one format a module."""
