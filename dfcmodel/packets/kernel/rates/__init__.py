"""Sources without a window: rate rules, arrivals, loss repair, and feedback to them."""
