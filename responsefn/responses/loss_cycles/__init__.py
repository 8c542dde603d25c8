"""The loss cycle of a rule, solved numerically, and its inverse."""
