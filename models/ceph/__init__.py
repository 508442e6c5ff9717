"""Ceph: RADOS, BlueStore, RocksDB, and the RADOS gateway, as data for the engines."""
