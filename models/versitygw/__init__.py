"""versitygw: an S3 gateway on a file system, local or shared."""
