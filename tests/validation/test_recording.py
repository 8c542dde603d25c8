"""What is recorded of findings: forgeries of readings, and of constants that judge, are noticed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from validation.claims import find
from validation.claims.effect_claims import Effects, Statement
from validation.claims.yang2001 import best_effort
from validation.claims.zheng2002 import pairs
from validation.recording import Recorded, differences, recorded
from validation.records import entries, rows
from validation.verdicts import Verdict


def changes(id: str) -> list[str]:
    """Return what of a claim, checked now, is not as recorded."""
    return list(differences(find(id).check(), recorded()[id]))


def test_every_statement_of_every_reading_is_recorded() -> None:
    assert set(recorded()) == set(entries())
    assert all(known.statements for known in recorded().values())
    assert len(rows("readings.csv")) == sum(len(known.statements) for known in recorded().values())


@pytest.mark.parametrize("id", ["Z09", "Y06"])
def test_what_is_bundled_is_as_recorded(id: str) -> None:
    assert changes(id) == []


def test_a_forged_reading_is_noticed_though_the_verdict_stays(monkeypatch, check) -> None:
    """a and b exchanged is what another reading has: the claim stays contradicted."""
    before = check("Z08")
    monkeypatch.setitem(pairs.READINGS, pairs.EXCHANGED, {"reading": "b"})
    after = check("Z08")
    assert after.simulation is before.simulation
    assert [each for each in differences(after, recorded()["Z08"]) if pairs.EXCHANGED in each]


def test_a_forged_constant_of_a_judge_is_noticed_though_the_verdict_stays() -> None:
    """A fixed number of times in Y06's threshold of two: see the row of ``thresholds.csv``."""
    found = find("Y06").check()
    (least,) = (each for each in found.thresholds if each.name == "least")
    assert least.value == best_effort.FAR
    lower = replace(least, value=1.1)
    forged = replace(
        found, thresholds=tuple(lower if each is least else each for each in found.thresholds)
    )
    assert list(differences(forged, recorded()["Y06"])) == ["threshold least"]


def test_a_missing_reading_and_an_unknown_one_are_noticed() -> None:
    found, known = find("Y06").check(), recorded()["Y06"]
    reading, *others = found.readings
    without = list(differences(replace(found, readings=()), known))
    assert f"statement 1 in the reading {reading.name!r}" in without
    renamed = replace(found, readings=(replace(reading, name="queues of ten"), *others))
    assert "statement 1 in the reading 'queues of ten'" in list(differences(renamed, known))


def test_a_claim_without_a_record_differs() -> None:
    assert "model and packets" in list(differences(find("Z01").check(), Recorded()))


def test_a_statement_that_another_source_judges_is_noticed() -> None:
    found, known = find("Y06").check(), recorded()["Y06"]
    first, *rest = found.parts
    forged = replace(found, parts=(replace(first, level=Verdict.HOLDS), *rest))
    assert "statement 1" in list(differences(forged, known))


def test_a_nan_is_no_verdict() -> None:
    """A run without a partner of its seed once made a statement inconclusive without a word."""
    from validation.statistics import of_runs

    with pytest.raises(ValueError, match="values must be finite"):
        Effects({"x": Statement((of_runs([1.0, float("nan")]),))}, {}, ("x", "y"))
