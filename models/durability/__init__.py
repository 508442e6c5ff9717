"""What a store's objects survive, how probable the loss of data is, and whether a promise of both is kept."""
