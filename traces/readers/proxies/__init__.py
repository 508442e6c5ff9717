"""Readers of the access logs of HTTP servers and proxies in front of stores."""
