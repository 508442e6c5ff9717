"""The `tailcast` command: parsing, printing and reports; no logic of its own."""
