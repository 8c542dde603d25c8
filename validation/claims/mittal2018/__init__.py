"""IRN, RDMA over networks that drop: claims of mittal2018 (see ``published/fabric_claims.csv``).

The network is the paper's default one, a fat tree of 54 hosts with links of 40 Gb/s and 2 us. Its bound on packets in flight is 120 packets of 1000 bytes,
its timeouts are 100 and 320 us. Traffic lasts for `validation.claims.mittal2018.fat_tree.TRAFFIC`, in other runs for `LONG_TRAFFIC`: both are short beside the paper's runs. Buffers of
fabrics with PFC have room for the headroom beside the threshold.
"""
