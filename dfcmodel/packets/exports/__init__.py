"""Export of scenarios and runs to other programs: ns-2, ns-3, packet captures."""
