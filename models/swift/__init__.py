"""OpenStack Swift: proxies, rings, object and container servers, and their drives."""
