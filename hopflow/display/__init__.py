"""Display of results: text, notebooks, side by side, waterfalls."""
