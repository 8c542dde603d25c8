"""HPCC, congestion control by telemetry: claims of li2019 (see ``published/fabric_claims.csv``).

All are judged at hopflow's packet level, on links of 100 Gb/s with a base round trip of 9 us; the fixed point of the window is the model of one. Switches
that write telemetry have no PFC here, so that nothing is paused.
"""
