"""Parsers of PRISM and JANI files and of properties."""
