"""What was asked and what happened: the Trace and Run tables, workload generators and statistics."""
