"""Scenarios as TOML files: what they may contain, reading, writing, their schema."""
