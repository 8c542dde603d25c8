"""Runs of htsim, the packet simulator of Raiciu, Handley and others; README.md says how it is built."""
