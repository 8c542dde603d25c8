"""Laws against published numbers, their limits, and each other."""

from __future__ import annotations

import csv
from pathlib import Path

import mpmath as mp
import pytest

from responsefn import (
    AIMD,
    BIC,
    PFTK,
    TFRC,
    Mathis,
    Reno,
    Scalable,
)

PUBLISHED = Path(__file__).parents[2] / "validation" / "published"
RTT = 0.048


@pytest.fixture(autouse=True)
def _fifty_digits():
    with mp.workdps(50):
        yield


def test_pftk_times_out_surely_where_the_window_is_three_or_less():
    """At p = 1 each packet is lost: one packet per expected series of timeouts, 64 t_RTO."""
    assert PFTK(rto=0.25).rate(1.0, 0.1) == pytest.approx(1 / (64 * 0.25), rel=1e-15)


def test_tfrc_against_the_published_table_of_its_denominator():
    with (PUBLISHED / "tfrc_f_of_p.csv").open() as file:
        rows = [(float(row["p"]), int(row["f_times_1e6"])) for row in csv.DictReader(file)]
    assert len(rows) >= 15
    for loss_rate, entry in rows:
        computed = 1e6 / TFRC().mean_window(loss_rate, RTT)
        assert int(computed) == entry, loss_rate  # the table cuts, it does not round


def test_laws_tend_to_the_square_root_law():
    for law in (TFRC(), PFTK(), PFTK(form="approximate")):
        assert law.rate(1e-10, RTT) / Reno().rate(1e-10, RTT) == pytest.approx(1, abs=2e-5)


def test_published_forms_that_fail():
    assert Scalable(form="published").rate(1e-5, 0.1) / Scalable().rate(1e-5, 0.1) == (pytest.approx(1.068, abs=1e-3))
    assert AIMD(32, 0.125).rate(1e-3, 0.1) / BIC().rate(1e-3, 0.1) > 2
    assert Mathis().rate(0.05, 0.1) / PFTK().rate(0.05, 0.1) > 1.4
    assert Mathis().rate(1e-4, 0.1) == pytest.approx(Reno().rate(1e-4, 0.1), rel=1e-14)
    # RFC 8337, 5.2: with delayed ACKs 3 W^2 packets between losses where the sawtooth runs from W to 2 W
    assert Mathis(packets_per_ack=2).mean_window(1 / (3 * 40**2), rtt=0.1) == pytest.approx(1.5 * 40)
    misprint = TFRC(form="zheng2002")
    for p, excess in ((0.01, 0.08), (0.05, 0.4), (0.1, 1.0)):
        assert misprint.rate(p, 0.1) / TFRC().rate(p, 0.1) - 1 > excess
