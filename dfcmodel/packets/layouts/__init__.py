"""Arrays of the compiled engine for a plan: ports in their order, lanes, managers, senders; how large they are."""
