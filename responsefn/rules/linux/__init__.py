"""Linux's congestion control modules, by the versions of the kernel that they stand in.

They have the names of published rules, but their constants, integer arithmetic and filters give other windows. The
sources are the files ``net/ipv4/tcp_*.c`` of Linux 6.12. ``kernel="2.6.22"`` selects the files of ns-2's TCP/Linux
agent. The recovery is SACK, which Linux enables by default (``tcp_sack``, ip-sysctl). None has a closed form: their
responses are numerical cycles.
"""
