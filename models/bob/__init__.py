"""Bob, a replicated blob store: nodes, virtual disks, blobs behind the page cache."""
