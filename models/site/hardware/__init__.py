"""Readers of what a host says of its hardware: cores, drives, links, and measurements of them."""
