"""What OSDs and RADOS gateways do for each request."""
