"""Scenarios and runs for other programs: ns-2, ns-3, packet captures."""
