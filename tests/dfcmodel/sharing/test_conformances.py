"""The IETF draft's example test cases of BBR: each is as expected, or its deviation is named."""

from __future__ import annotations

import numpy as np
import pytest

from dfcmodel import conformance
from dfcmodel.sharing.bbr_cases import CASES
from dfcmodel.sharing.bbr_observations import MODES, Path, observe
from responsefn import BBR, NewReno

QUICK = (1, 3, 20)
RULE = BBR(extra_acked_rounds=10)
DEVIATIONS = {18, 19}
"""Cases of the appendix on spurious recoveries."""


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(n, marks=() if n in QUICK else pytest.mark.slow)
        for n in range(1, len(CASES) + 1)
    ],
)
def test_each_case_of_the_appendix(number: int) -> None:
    (case,) = conformance(RULE, cases=(number,)).cases
    expected = "known deviation" if number in DEVIATIONS else "as expected"
    assert case.verdict == expected, case.checks


def test_the_appendix_has_22_cases() -> None:
    assert len(CASES) == 22
    assert {n for n, case in enumerate(CASES, 1) if case.deviation} == DEVIATIONS


def test_a_rule_that_leaves_startup_too_early_deviates() -> None:
    """The checks can fail: a small gain in Startup takes slow growth for a plateau."""
    (case,) = conformance(BBR(startup_gain=1.05), cases=(1,)).cases
    assert case.verdict == "deviates"
    assert not all(check.holds for check in case.checks)


def test_an_observation_has_the_draft_s_variables() -> None:
    run = observe(BBR(), Path(duration=2.0))
    assert run.sequence()[:3] == ("STARTUP", "DRAIN", "CRUISE")
    assert set(run.state) == set(BBR.State._fields)
    begin, end = run.spells("STARTUP")[0]
    assert MODES[int(run.mode[begin])] == "STARTUP" == run.mode_at(end - 1)
    assert run.in_flight.max() <= run.cwnd.max() + 1.0
    assert (np.diff(run.delivered) >= 0.0).all()


def test_the_result_is_a_table_a_picture_and_a_summary() -> None:
    found = conformance(RULE, cases=(1,))
    assert set(found.table["number"]) == {1}
    assert found.table["holds"].all()
    assert found.summary()["1 Exiting STARTUP on bandwidth plateau"] == "as expected"
    assert found.plot().get_xlabel() == "time (s)"
    assert found.to_xarray().sizes["row"] == len(found.table)


def test_what_is_refused() -> None:
    with pytest.raises(TypeError, match="rule"):
        conformance(NewReno())  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"cases = \(23,\)"):
        conformance(BBR(), cases=(23,))
