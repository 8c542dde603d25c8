"""Sources that control their flows: options and durations."""

from __future__ import annotations

import pytest

from validation.generate.yang2001 import priority


@pytest.mark.simulators
def test_ns2_repeats_the_bundled_rows(repeats) -> None:
    repeats("yang2001/transfer-times", size=10_000, seed=1)


@pytest.mark.slow
@pytest.mark.simulators
def test_ns2_repeats_endless_flows(repeats) -> None:
    repeats("yang2001/bandwidth-shares", seed=2)


def test_an_environment_is_the_mechanisms_of_both_sources() -> None:
    options = priority.options({"environment": "cc/be", "tcp_flows": 81, "size": 10**6, "seed": 1})
    assert (options["s1"], options["s2"]) == ("cc", "be")
    assert (options["tcp1"], options["udp2"]) == (81, 19)


def test_one_parameter_differs_from_the_default() -> None:
    runs = priority.varied({"discipline": "FCFS"}, {"RED.buffer": (200,)}, (1, 2))
    assert [run["parameter"] for run in runs] == ["default"] * 2 + ["RED.buffer"] * 2
    assert (runs[-1]["discipline"], runs[-1]["buffer"], runs[-1]["value"]) == ("RED", 200, "200")
    assert "parameter" not in priority.options(runs[-1])


def test_a_run_lasts_as_long_as_its_load_needs() -> None:
    run = {"size": 10**6, "seed": 1}
    assert priority.duration(run) == pytest.approx(8 * 13 * 10**6 / 1e6 + priority.DRAIN)
    assert priority.duration({"size": 0, "limit": 200.1, "seed": 1}) == 200.1
