"""Flows over bottlenecks: the same options in both simulators, and rows from samples."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from validation.generate.kaneko2007 import flows, sweeps

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
