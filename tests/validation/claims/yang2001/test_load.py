"""TCP and UDP on a slow link."""

from __future__ import annotations

from responsefn import PFTK
from validation.claims.yang2001 import load


def test_the_share_by_the_law_is_that_of_pftk_at_the_loss_of_the_overload() -> None:
    """Six sources of 448 kb/s on 1 Mb/s lose 1 - 1/2.688; a full buffer takes 0.4 s."""
    rate = float(PFTK().rate(p=1 - 1 / 2.688, rtt=0.448))
    assert abs(load.share_by_law() - 7 * rate * 8000 / 1e6 / 2.688) < 1e-12
