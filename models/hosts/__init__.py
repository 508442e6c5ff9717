"""What small stores on hosts with drives have in common, so that a store's own folder has its mechanisms only."""
