"""Runs of the RDMA model of ns-3, by Li and others; README.md says how it is built."""
