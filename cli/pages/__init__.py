"""Pages: self-contained HTML."""
