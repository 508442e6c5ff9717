"""The usual questions about a store, as one result: limits, failures, hedging, changes, growth, assumptions."""
