"""Import of logs: records of the readers are sorted by time on disk and written as a Trace and a measured Run."""
