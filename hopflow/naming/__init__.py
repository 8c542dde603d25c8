"""Names: public ones, those in registries, and those that have changed."""
