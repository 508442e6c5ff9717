"""What a store is made of: specs, service-demand laws and store models that compile to a Network and a Sheet."""
