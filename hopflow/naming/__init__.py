"""Public names, registries and deprecated names."""
