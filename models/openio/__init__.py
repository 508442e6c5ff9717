"""OpenIO SDS: S3 gateways, chunks on rawx services of drives, and a directory of SQLite bases."""
