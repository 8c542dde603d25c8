"""Fluid models of DCQCN and TIMELY: claims of zhu2016 (see ``published/fabric_claims.csv``).

hopflow's model of DCQCN is the paper's: its fixed point (``DCQCN.drift``, ``DCQCN.rate``), and the fluid with ``marks="expected"``. The fluid runs
TIMELY as the packet level does, by round-trip times.
"""
