"""TCP-Fusion: claims of kaneko2007 (see ``published/claims.csv``)."""
