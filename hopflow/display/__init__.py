"""How results are shown: as text, in notebooks, side by side, as waterfalls."""
