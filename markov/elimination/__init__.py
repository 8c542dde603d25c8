"""Subtraction-free elimination (GTH) on band storage, and the classes and periods of a chain."""
