"""The compiled fabric kernel: lossless switches and the network interfaces of hosts.

`loop.run`, the loop over windows of time, is the entry point. The modules import only each other: the whole package is
copied and compiled (`jit`).
"""
