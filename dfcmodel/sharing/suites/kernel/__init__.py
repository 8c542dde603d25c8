"""Compiled loops of connections that are fed events."""
