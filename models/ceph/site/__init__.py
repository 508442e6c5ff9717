"""The spec of a new Ceph cluster, and the files that say what it is."""
