"""One loaded node: options, and ns-3's rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from validation.generate.takano2006 import loaded_node

RUN = {"mode": "fed back", "link_rate": 37000e6, "hot": 1500, "seed": 3}


@pytest.mark.simulators
def test_ns3_repeats_the_bundled_rows(repeats) -> None:
    repeats("takano2006/loaded-node", mode="alone", link_rate=12300e6, seed=1)


def test_options_and_rows(tmp_path: Path) -> None:
    (words,) = loaded_node.calls(RUN)
    assert {"--megabits=37000", "--level=200", "--hot=1500", "--feedback=1"} <= set(words)
    (row,) = loaded_node.read(RUN, tmp_path, ["node 0.005 -3 120 1 60"])["nodes"]
    assert row == {**RUN, "time": 0.005, "distance": -3, "waiting": 120, "on_link": 60}


def test_every_loaded_run_with_traffic_has_one_without_the_load() -> None:
    def of(hot: bool) -> set[tuple[object, ...]]:
        runs = (r for r in loaded_node.RUNS if (r["hot"] > 0) is hot and r["mode"] != "alone")
        return {(r["mode"], r["link_rate"], r["seed"]) for r in runs}

    assert of(True) == of(False)
