"""Sources without a window: rate rules, arrivals, their repairs, and what they are told."""
