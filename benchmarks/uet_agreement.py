"""``python -m benchmarks.uet_agreement``: NSCC and RCCC beside the consortium's htsim, run by run, on one path and sprayed.

It writes ``results/uet_agreement.md``, the table of the documentation, from the bundled runs ``htsim/uec`` and runs of the packet level over
the same fabrics with the parameters that htsim prints (base round-trip time and target 9.33 us, a product of 116,640 bytes). Times are
means of three seeds in both. Nothing is fitted.

Expected, written down before the first comparison: the last flow and the mean time of a flow are within `TOLERANCE` of htsim's on
one path, where switches take spines in turn, and with RCCC. Where packets are hashed over eight spines they are within `HASHED`: here
each packet is drawn at random, there the 64 entropies of a flow are spread over the spines once, some of which get more.
This is for senders that take no packet for lost because others overtake it, as htsim's do. With the recovery of `NSCC`, for which
three later ACKs are a loss, sprayed flows are expected to take at least 1.2 times as long as htsim's.
"""

from __future__ import annotations

__all__ = ["HASHED", "TOLERANCE"]

TOLERANCE, HASHED = 0.05, 0.10
"""Of htsim's time."""
