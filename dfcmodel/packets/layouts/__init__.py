"""Arrays of the compiled engine for a plan: units in their order, lanes, managers, senders; how large they are."""
