"""Service demands of a network: which stations a request visits, and for how long, without simulation."""
