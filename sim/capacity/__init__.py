"""A store as it grows: timelines, limits, and plans."""
