"""The forecast against reality: replay on real stores, the lab, comparison and fits."""
