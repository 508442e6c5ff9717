"""Tables and sentences of experiments: variants, searches, failures, and growth."""
