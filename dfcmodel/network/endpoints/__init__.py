"""Endpoints of flows: sources, recoveries, stacks, receivers, and their notifications."""
