"""Functions of a state (labels, rewards, sets): plain Python, and faster ways that are compared with it."""
