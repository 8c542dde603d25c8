"""The loops of products of non-negative matrices whose entries are sums of two or three float64."""
