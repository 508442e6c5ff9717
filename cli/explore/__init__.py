"""A local page on which the main values of a spec are moved, and what follows is seen at once."""
