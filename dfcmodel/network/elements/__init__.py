"""Elements of paths: effects of links on packets besides queueing, one class each."""
