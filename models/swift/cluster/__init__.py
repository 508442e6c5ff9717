"""Swift's stations, and where objects are."""
