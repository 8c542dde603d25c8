"""Chains over time: distributions at times, first passages, steps of discrete time."""
