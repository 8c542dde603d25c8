"""P, S and R against formulas of the M/M/1/N queue."""

from __future__ import annotations

import math
from typing import Any

import pytest

from markov import read_prism, transient

RHO = 0.7
WEIGHT = sum(RHO**k for k in range(11))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('S=? [ "full" ]', RHO**10 / WEIGHT),
        ("S=? [ n >= 5 & n < 7 ]", (RHO**5 + RHO**6) / WEIGHT),
        ('R{"length"}=? [ S ]', sum(k * RHO**k for k in range(11)) / WEIGHT),
        ('R{"served"}=? [ S ]', 10.0 * (1.0 - 1.0 / WEIGHT)),
        ('P=? [ F "full" ]', 1.0),
        ("P=? [ X n=1 ]", 1.0),
        ("P=? [ F<=0.1 n>0 ]", 1.0 - math.exp(-0.7)),
        ("P=? [ G<=0.1 n=0 ]", math.exp(-0.7)),
        ("P=? [ F[0.1,0.2] n>0 ]", None),
        ("P=? [ n<10 U n=3 ]", 1.0),
    ],
)
def test_properties_are_what_formulas_say(queue: Any, text: str, value: float | None) -> None:
    found = queue.property(text)
    if value is not None:
        assert abs(found.value - value) <= found.error_bound + 4e-16 * value
    assert found.error_bound <= 1e-12


def test_properties_and_transient_agree_on_a_time(queue: Any) -> None:
    found = transient(queue, [0.4])
    asked = queue.property("P=? [ true U[0.4,0.4] n=3 ]")
    assert found.pi[0, 3] == pytest.approx(asked.value, abs=1e-13)
    asked = queue.property('R{"length"}=? [ I=0.4 ]')
    assert found["length"][0] == pytest.approx(asked.value, abs=1e-12)
    asked = queue.property('R{"length"}=? [ C<=0.4 ]')
    assert float(found.accumulated["length"][0]) == pytest.approx(asked.value, abs=1e-12)


def test_a_rare_event_within_a_time_has_a_relative_bound(tmp_path):
    """Two disks, 60 digits: at any horizon, with 6e12 expected jumps at the last."""
    path = tmp_path / "disks.sm"
    path.write_text(
        "ctmc\nmodule m\n  up : [0..2] init 2;\n  [] up > 0 -> 1e-5 * up : (up' = up - 1);\n"
        "  [] up = 1 -> 30 : (up' = 2);\nendmodule\n"
    )
    model = read_prism(path)
    for time, exact in (("1", 6.44443822220883669e-12), ("1e11", 0.486582538689518828)):
        found = model.property(f"P=? [ F<={time} up = 0 ]")
        assert abs(found.value - exact) <= found.error_bound <= 1e-12 * exact
