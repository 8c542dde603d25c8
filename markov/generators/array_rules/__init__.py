"""Rules run once for many states: their source, evaluated on arrays."""
