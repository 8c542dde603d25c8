"""Deadlocks of networks with PFC: claims of hu2016 (see ``published/fabric_claims.csv``).

The ring of the paper's Figs. 3 to 5 has four switches A to D at 40 Gb/s. Routes here visit no node twice, so that a routing loop cannot be run.
"""
