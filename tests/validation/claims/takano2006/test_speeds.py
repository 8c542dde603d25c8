"""D04 to D08 could have come out otherwise."""

from __future__ import annotations

import numpy as np
import pytest

from validation import Verdict

R, C, N = Verdict.HOLDS, Verdict.CONTRADICTED, Verdict.INCONCLUSIVE
ALL = [("D04", "1"), ("D05", "2"), ("D06", "3"), ("D07", "4"), ("D08", "5")]


@pytest.fixture(autouse=True)
def anew():
    """Measure anew: the matrices are computed once otherwise."""
    from validation.claims.takano2006.matrices import matrix

    matrix.cache_clear()
    yield
    matrix.cache_clear()


def without(name: str) -> tuple[str, str]:
    return tuple(f"takano2006/scenario-{name}-{kind}without-dfc" for kind in ("", "starts-"))


@pytest.mark.parametrize(
    ("id", "name"),
    [pytest.param(*one, marks=[] if one[0] == "D04" else pytest.mark.slow) for one in ALL],
)
def test_swings_beyond_those_with_dfc_hold(doctor, judged, id: str, name: str) -> None:
    def swing(frame):
        return frame.assign(efficiency=0.3 * (1 + np.sign(np.sin(40 * frame["time"]))))

    doctor(without(name), swing)
    assert judged(id)["unstable"].packets is R


def test_low_where_packets_say_so(doctor, judged) -> None:
    doctor(without("1"), lambda d: d.assign(efficiency=0.4 * d["efficiency"]))
    assert judged("D04")["low"].packets is R


def test_high_where_packets_say_so(doctor, judged) -> None:
    doctor(without("1"), lambda d: d.assign(efficiency=0.9 + 0 * d["efficiency"]))
    found = judged("D04")
    assert found["low"].packets is C
    assert found["unstable"].packets is C


def test_one_steady_run_of_many_does_not_decide(doctor, judged) -> None:
    """Runs are ranked: a run more cannot take the verdict away."""
    doctor(
        without("1")[0],
        lambda d: d.assign(efficiency=d["efficiency"].where(d["seed"] != d["seed"].min(), 0.5)),
    )
    assert judged("D04")["unstable"].packets is R


def test_an_unsettled_chain_is_noticed(doctor, judged) -> None:
    def swing(frame):
        return frame.assign(efficiency=frame["efficiency"] + 0.2 * np.sin(40 * frame["time"]))

    cases = tuple(f"takano2006/scenario-1-with-dfc-shaped{kind}" for kind in ("", "-seeds"))
    doctor(cases, swing)
    assert judged("D04")["settles"].packets is C


@pytest.mark.slow
def test_direct_hosts_turn_a_reproduced_claim() -> None:
    from validation.claims import find

    finding = find("D05").check()
    assert finding.default == (R, R)
    assert finding.simulation is Verdict.DEPENDS
    assert "hosts in node 1's buffer with DFC too" in finding.turning.packets
