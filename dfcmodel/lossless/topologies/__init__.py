"""Topologies: as graphs, with cables and buffers, in files; their shortest paths."""
