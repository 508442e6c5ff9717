"""Logs in: records of the readers, sorted by time on disk, become a Trace and a measured Run."""
