"""Queueing at links: disciplines, queue managers, switch programs, pauses, laws between sender and receiver."""
