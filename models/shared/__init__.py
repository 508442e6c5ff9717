"""What stores have in common: sections of their specs, clients, links, processors, faults and background work."""
