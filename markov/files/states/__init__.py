"""The states of a file's model: the transitions out of them, and the search for them."""
