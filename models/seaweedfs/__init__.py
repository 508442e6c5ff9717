"""SeaweedFS: a master, volume servers with append-only volumes, filers, and S3 gateways."""
