"""The spec of a new Swift cluster, and the files that say what it is."""
