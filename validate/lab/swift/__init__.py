"""OpenStack Swift, started with proxies, and with object, container and account servers on each host."""
