"""Defaults of client SDKs."""
