"""versitygw, started on a drive."""
