"""Models of stores: specs, service demands, and compilers that turn a spec and a Trace into a Network and a Sheet."""
