"""Pairs of rules of which ns-2's runs are bundled."""

from __future__ import annotations

from responsefn import BIC, CTCP, CUBIC, HSTCP, Reno

PAIRS = "kaneko2007/pairs-ns2"
KEPT = 819 / 1024
LINUX = {  # as far as our rules can be set to what Linux 2.6.22 does
    "reno": Reno(),
    "cubic": CUBIC(beta=KEPT, fast_convergence=1),
    "highspeed": HSTCP(table=1),
    "compound": CTCP(),
    "bic": BIC(b=1 - KEPT, largest=16.0),
}
