"""Linux's congestion control modules, as ns-2's TCP/Linux agent runs them.

They bear the names of published rules, but constants, integer arithmetic and filters of their own
make other windows. The sources are the files ``net/ipv4/tcp_*.c`` of Linux 2.6.22, which ns-2 has
taken over. None has a closed form: their responses are those of the numerical cycle.
"""
