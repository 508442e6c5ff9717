"""The verdict on a simulated load: its state, what saturates first, and what retries and hedges add."""
