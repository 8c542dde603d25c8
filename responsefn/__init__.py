"""responsefn: congestion-window rules of TCP and the response functions that follow.

A *rule* updates the window of a sender (`AIMD`, `Reno`, `NewReno`, `Tahoe`; base
`WindowRule`), a *law* is a rate equation without a window (`TFRC`, `PFTK`; base `Law`).
Both have ``rate(p, rtt)`` in packets/s. `invert` returns p, `curve` draws.

>>> from responsefn import Reno, TFRC, invert
>>> round(Reno().rate(0.01, rtt=0.1), 3)
122.474
>>> round(invert(Reno(), rate=122.474, rtt=0.1), 6)
0.01
"""

from __future__ import annotations

from hopflow.public_names import attach

__distribution__ = "hopflow"
__getattr__, __dir__, __all__ = attach(__name__, __file__)
