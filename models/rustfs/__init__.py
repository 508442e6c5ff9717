"""RustFS: MinIO's layout with locks by quorum, reads of all shards that are hedged, and fewer syncs."""
