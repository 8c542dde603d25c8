"""The cases of the slides: buffers of one BDP, jittered starts."""

from __future__ import annotations

import pytest

from validation.generate.kaneko2007 import sweeps


def test_a_run_fills_in_what_it_is_not_told() -> None:
    run = sweeps.a_run({}, ["reno"] * 2, seed=1, times=sweeps.Times(starts=(0.0, 10.0)))
    assert run["buffer"] == sweeps.bdp(100e6, 0.04) == 333
    assert run["rtts"] == [0.04, 0.04]
    assert run["ssthresh"] == 166
    first, second = run["starts"]
    assert 0.0 <= first < 0.1
    assert 10.0 <= second < 10.1
    assert run["overhead"] == pytest.approx(1.2e-4)


def test_the_same_seed_gives_the_same_starts() -> None:
    one, other = (sweeps.a_run({}, [rule], seed=3) for rule in ("bic", "cubic"))
    assert one["starts"] == other["starts"]


def test_more_seeds_are_others() -> None:
    cases = {case.name: case for case in sweeps.CASES}
    seeds = [
        {run["seed"] for run in cases[f"kaneko2007/{name}"].runs}
        for name in ("added-delay-ns3", "added-delay-seeds-ns3")
    ]
    assert seeds == [{1}, {2, 3}]
