"""Senders without a window: rate rules, their repairs, and the answers of receivers."""
