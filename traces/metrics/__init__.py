"""Metrics that Prometheus has of a store and its hosts: series of samples, and rates, means and quantiles of them."""
