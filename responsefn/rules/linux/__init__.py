"""Linux's congestion control modules, by the versions of the kernel that they stand in.

They bear the names of published rules, but constants, integer arithmetic and filters of their own
make other windows. The sources are the files ``net/ipv4/tcp_*.c`` of Linux 6.12; ``kernel="2.6.22"`` selects those that
ns-2's TCP/Linux agent has taken over. They repair losses by SACK, which Linux enables by default (``tcp_sack``,
ip-sysctl). None has a closed form: their responses are those of the numerical cycle.
"""
