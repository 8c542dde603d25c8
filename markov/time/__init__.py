"""Chains over time: distributions at given times, first passages, steps of discrete time."""
