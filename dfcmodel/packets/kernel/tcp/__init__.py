"""Window senders, receivers, and the arrivals and events of rules that senders of both kinds have."""
