"""The chain with DFC: options, and ns-3's rows, in which every packet is accounted for."""

from __future__ import annotations

from pathlib import Path

import pytest

from validation.generate.takano2006 import dfc_chain

RUN = {"case": "scenario-4v-with-dfc", "buffer": 400, "seed": 2}


@pytest.mark.simulators
def test_ns3_repeats_the_bundled_rows(repeats) -> None:
    repeats("takano2006/dfc-integer-counts", link_rate=37e6, seed=1)


def test_options_are_those_of_the_sweep_and_the_run() -> None:
    (words,) = dfc_chain.calls(RUN)
    assert {"--megabits=12300", "--buffer=400", "--seed=2", "--target=ns3-vegas"} <= set(words)
    assert not any(word.startswith("--instants=") and ",1.5" in word for word in words)


def test_numbers_and_names() -> None:
    assert [dfc_chain.number(text) for text in ("3", "0.5", "target")] == [3, 0.5, "target"]


def test_packets_that_do_not_add_up_are_an_error(tmp_path: Path) -> None:
    node = "node 1 100 90 0 0 9 5 5 10 -1.0 -1.0"
    with pytest.raises(RuntimeError, match="do not add up"):
        dfc_chain.read(RUN, tmp_path, [node])
    (row,) = dfc_chain.read(RUN, tmp_path, [node.replace(" 9 ", " 10 ")])["nodes"]
    assert (row["stored"], row["first_drop"]) == (10, None)
