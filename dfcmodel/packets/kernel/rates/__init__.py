"""Sources without a window: rate rules, their loss repair, and feedback from receivers."""
