"""Reaction networks in SBML."""
