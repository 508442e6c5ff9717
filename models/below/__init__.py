"""Stores on stores: what a layer issues to the store below it, and has of this one's model."""
