"""The catalogue of prices of drives, hosts and network interfaces."""
