"""Two Runs compared, and the quality of a measured one."""
