"""Backpressure flow control, per flow and hop: claims of goyal2022 (see ``published/fabric_claims.csv``).

BFC has a queue per flow here, as the paper's ideal variant: collisions of flows in queues are not modelled. The fabric is smaller than the paper's, 16 hosts in place of
hundreds, and traffic lasts for `validation.claims.goyal2022.beside.TRAFFIC`.
"""
