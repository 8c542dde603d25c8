"""RDMA over commodity Ethernet in operation: claims of guo2016 (see ``published/fabric_claims.csv``).

Storms and watchdogs are those of `dfcmodel.lossless`. Thresholds of PFC are fixed, so that two of them stand for two values of alpha. hopflow has no
go-back-0: its livelock is computed.
"""
