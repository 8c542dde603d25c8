"""What is compiled of the fabric kernel: lossless switches and the network interfaces of hosts.

Start with `loop.run`, the loop over windows of time. Modules import nothing but each other: the whole package is copied
and compiled (`jit`).
"""
