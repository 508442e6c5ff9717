"""Spec files: YAML, units, notes of fields, and what a misspelt name may mean."""
