"""Garage: partitions on nodes, quorums of metadata in LMDB, blocks without syncs."""
