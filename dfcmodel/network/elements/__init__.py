"""Elements of paths: what a link does to packets besides queueing, one class for each."""
