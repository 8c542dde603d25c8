"""Simulated paths of the collection's files, which proved bounds are compared with: against a closed form."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from benchmarks.collection import disagreements
from benchmarks.collection_paths import agrees, hits
from tests.markov.files.conftest import model_of

BIRTHS = "ctmc module m n : int init 0; [] n >= 0 -> 3 : (n' = n + 1); endmodule"


@pytest.mark.parametrize(
    ("text", "chance"),
    [
        ("P=? [ F<=2 n>=6 ]", 0.5543203586353891),  # P(N >= 6) for a mean of 6
        ("P=? [ G<=2 n<6 ]", 0.4456796413646109),
        ("P=? [ F[2,2] n=6 ]", 0.1606231410479801),
    ],
)
def test_hits_of_births(text: str, chance: float, tmp_path: Path) -> None:
    count = hits(model_of(tmp_path, BIRTHS), text, 4000)
    assert count is not None
    assert abs(count - 4000 * chance) < 5.0 * math.sqrt(4000 * chance * (1.0 - chance))


def test_a_wrong_bound_shows() -> None:
    assert agrees((0.5, 0.5), 510, 1000, 1e-6)
    assert not agrees((0.7, 0.8), 510, 1000, 1e-6)
    assert agrees((0.0, 1e-9), 0, 1000, 1e-6)
    row = {"file": "a", "value": "0.75", "bound": "0.05", "hits": "510", "paths": "1000"}
    assert disagreements([row, row | {"hits": ""}]) == (1, ["a"])
