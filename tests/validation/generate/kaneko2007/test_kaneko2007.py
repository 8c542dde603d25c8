"""The experiments of kaneko2007: options of both simulators, and rows of their outputs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from validation.generate.kaneko2007 import flows, more_seeds, parking_lot, sweeps
from validation.generate.kaneko2007.unstated_parameters import CASES, read
from validation.inference.designs import settings

# Flows over bottlenecks: the same options in both simulators, and rows from samples.

RUN = sweeps.a_run({"rule": "bic"}, ["bic", "reno"], seed=2, times=sweeps.Times(end=30.0))


@pytest.mark.simulators
@pytest.mark.parametrize(("tool", "rule"), [("ns2", "bic"), ("ns3", "cubic")])
def test_both_simulators_repeat_the_bundled_rows(repeats, tool: str, rule: str) -> None:
    repeats(f"kaneko2007/loss-sweep-{tool}", rules=[rule], loss=0.1)


def test_both_simulators_get_the_same_numbers() -> None:
    (two,), (three,) = flows.ns2_calls(RUN), flows.ns3_calls(RUN)
    words = dict(zip(two[::2], two[1::2], strict=True))
    options = dict(word.removeprefix("--").split("=") for word in three)
    for name in (
        "rate",
        "buffer",
        "loss",
        "overhead",
        "seed",
        "begin",
        "end",
        "ssthresh",
        "window",
    ):
        assert float(words[name]) == pytest.approx(float(options[name]), rel=1e-5), name
    assert words["rtts"].split() == options["rtts"].split(",")
    assert options["rules"] == "ns3::TcpBic,ns3::TcpNewReno"


def samples(folder: Path, sent: int = 1000) -> None:
    """Write what a run leaves in which both flows send at one rate."""
    time = np.arange(0.0, 31.0, flows.STEP)
    count = np.floor(time / 30.0 * sent)
    flow = [count, count, 0 * count, count, 10.0 + 0 * count]
    columns = [time, 2 * count, 2 * count, 0 * count, 3.0 * time, *flow, *flow]
    np.savetxt(folder / "samples.txt", np.array(columns).T)
    for name in ("drops.txt", "lost.txt"):
        (folder / name).write_text("")


def test_rows_of_hand_made_samples(tmp_path: Path) -> None:
    samples(tmp_path)
    found = flows.read(RUN, tmp_path, [""])
    first, second = found["flows"]
    assert (first["flow_rule"], second["flow_rule"]) == ("bic", "reno")
    assert first["goodput"] == pytest.approx(1000 / 30, rel=0.01)
    assert first["few_events"] == 1
    assert found["links"][0]["mean_queue"] == pytest.approx(3.0)


def test_a_random_drop_that_was_not_traced_is_an_error(tmp_path: Path) -> None:
    samples(tmp_path)
    (tmp_path / "lost.txt").write_text("25.0 1\n")
    with pytest.raises(RuntimeError, match="1 random drops traced, 0 counted"):
        flows.measure(RUN, tmp_path)


# Further seeds of the slides' cases: others than those that they add to, at the same settings.

FIRST = {case.name: case for case in (*sweeps.CASES, *parking_lot.CASES)}
FURTHER = [case for case in more_seeds.CASES if "-more-seeds-" in case.name]


@pytest.mark.parametrize("case", FURTHER, ids=lambda case: case.name)
def test_further_seeds_are_new_ones_of_the_same_settings(case) -> None:
    first = FIRST[case.name.replace("-more-seeds", "")]
    known = {run["seed"] for run in first.runs}
    assert not known & {run["seed"] for run in case.runs}
    settings = [run["factors"] for run in first.runs]
    for run in case.runs:
        assert run["factors"] in settings
        same = next(each for each in first.runs if each["factors"] == run["factors"])
        for name in ("rate", "rtts", "buffer", "loss", "begin", "end", "ssthresh", "window"):
            assert run[name] == same[name]


def test_windows_over_time_are_kept_where_a_claim_needs_them() -> None:
    series = {case.name: "series" in case.tables for case in more_seeds.CASES}
    assert series["kaneko2007/windows-alone-more-seeds-ns3"]
    assert not series["kaneko2007/windows-with-reno-more-seeds-ns3"]


def test_round_trips_that_are_equal_need_no_further_seeds() -> None:
    (case,) = (c for c in more_seeds.CASES if c.name == "kaneko2007/rtt-fairness-more-seeds-ns2")
    assert {run["factors"]["long_rtt"] for run in case.runs} == {0.06, 0.12}


# Three bottlenecks in a row: who goes where.


@pytest.mark.simulators
def test_ns2_repeats_the_bundled_rows(repeats) -> None:
    repeats("kaneko2007/parking-lot-ns2", seed=1)


def test_flows_end_together_and_reverse_flows_cross_one_link() -> None:
    run = parking_lot.CASES[0].runs[-1]
    first, last = run["path"]["from"], run["path"]["to"]
    assert last[:6] == [parking_lot.HOPS] * 6
    assert sorted(b - a for a, b in zip(first[:6], last[:6], strict=True)) == [1, 1, 2, 2, 3, 3]
    assert {b - a for a, b in zip(first[6:], last[6:], strict=True)} == {-1}
    assert len(run["rules"]) == 6 + 3 * parking_lot.REVERSE


# The cases of the slides: buffers of one BDP, jittered starts.


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


# Settings as words of the module; its lines as rows.

(CASE,) = CASES


def test_a_run_is_a_setting() -> None:
    assert len(CASE.runs) == len(settings("kaneko2007"))
    words = CASE.calls(CASE.runs[1])[0]
    options = dict(zip(words[::2], words[1::2], strict=True))
    assert options.pop("seed") == "2"
    assert options == {name: str(value) for name, value in settings("kaneko2007")[1].items()}


def test_lines_become_rows() -> None:
    rows = read(CASE.runs[0], Path(), ["pairs,Reno,BIC,10.5000,80.2500\n"])
    assert rows["pairs"] == [
        {"setting": 1, "experiment": "pairs", "first": "Reno", "second": "BIC",
         "goodput_first": 10.5, "goodput_second": 80.25}
    ]  # fmt: skip
    assert rows["settings"][0]["later"] == settings("kaneko2007")[0]["later"]
