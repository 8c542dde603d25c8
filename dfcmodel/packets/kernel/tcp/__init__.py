"""TCP senders with window rules, and their receivers."""
