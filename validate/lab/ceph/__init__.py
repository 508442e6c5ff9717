"""Ceph, started with a monitor, a manager, OSDs on each host, and RADOS gateways."""
