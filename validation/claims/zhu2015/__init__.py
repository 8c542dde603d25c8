"""DCQCN, congestion control of RDMA over Ethernet with PFC: claims of zhu2015 (see ``published/fabric_claims.csv``).

The paper's testbed has links of 40 Gb/s; the networks here have the switches that the figures name, links of one microsecond, and packets
of 1000 bytes. Thresholds of PFC are fixed.
"""
