"""The ends of flows: sources, recoveries, stacks, receivers, and what they tell each other."""
