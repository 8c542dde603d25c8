"""TCP senders with window rules, receivers, and the arrivals and events of rules of both kinds of senders."""
