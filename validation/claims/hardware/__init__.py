"""Measurements of real switches: hopflow's own comparisons."""
