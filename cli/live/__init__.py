"""What is seen of a replay while it runs: on the terminal, and on a local page in a process of its own."""
