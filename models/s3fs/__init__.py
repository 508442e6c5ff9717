"""s3fs-fuse: a file system on any modelled store."""
