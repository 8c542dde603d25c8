"""Groups of commands of `hopflow` that have a file of their own."""
