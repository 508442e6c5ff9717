"""Tables and sentences of what was measured: comparison, validation, the lab, and imported results."""
