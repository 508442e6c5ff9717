"""Which store on given hardware: settings that keep one promise, the figures of each store, and a ranking."""
