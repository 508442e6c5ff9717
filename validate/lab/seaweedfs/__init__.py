"""SeaweedFS, started with volume servers, filers with S3 gateways, and a master."""
