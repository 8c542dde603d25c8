"""Window senders and their receivers."""
