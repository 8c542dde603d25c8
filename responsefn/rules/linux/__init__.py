"""Linux's congestion control modules, as ns-2's TCP/Linux agent runs them.

They bear the names of published rules, but constants, integer arithmetic and filters of their own
make other windows. The sources are the files ``net/ipv4/tcp_*.c`` of Linux 2.6.22, which ns-2 has
taken over. They repair losses by SACK, which Linux enables by default (``tcp_sack``, ip-sysctl) and ns-2's
agent has with its sink ``TCPSink/Sack1``. None has a closed form: their responses are those of the numerical cycle.
"""
