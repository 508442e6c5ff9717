"""Service demands of a Ceph cluster, derived from its spec, its devices and its state."""
