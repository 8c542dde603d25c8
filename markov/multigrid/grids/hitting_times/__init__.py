"""Mean hitting times on a grid, by multigrid with levels that stay as they are."""
