"""What the kernel must compute, said naively: queues, ways and ACKs in lists, no compiled code.

A package of plain Python with a class for each thing, written anew: senders and receivers of TCP, window rules
as users wrote them, queue managers, buffers, pauses, feedback. From the kernel it takes the law (2) and
(13) of DFC, from the plan how queues are numbered, delays, clocks and seeds. It has none of the kernel's shortcuts and
cumulative counts. Amounts are multiples of the plan's quantum in both, rounded at the same places, so that
runs agree to the last bit where no sum of other numbers is taken in another order.
"""

from __future__ import annotations

from dfcmodel.engine.reference.runs import advance

__all__ = ["advance"]
