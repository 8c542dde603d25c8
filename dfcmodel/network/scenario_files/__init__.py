"""Scenarios as TOML files: their keys, reader, writer and schema."""
