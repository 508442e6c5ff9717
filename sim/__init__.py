"""The queueing-network machine: two engines that execute a Network and agree to the bit."""
