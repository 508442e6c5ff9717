"""Published measurements of real stores, and what the models say of them."""
