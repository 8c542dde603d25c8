"""Random networks: ns-2's rows, and the programs bundled beside them."""

from __future__ import annotations

import pytest

from validation import evidence
from validation.generate.cases import digest
from validation.generate.packets.random_networks import CASES, TIMES
from validation.recomputing import RANDOM

(CASE,) = CASES


@pytest.mark.simulators
def test_ns2_repeats_the_bundled_rows(repeats) -> None:
    repeats(RANDOM, seed=7)


def test_bundled_programs_are_those_of_the_recorded_commands() -> None:
    programs = evidence.table(RANDOM, "networks")["program"]
    commands = [CASE.program.command([text]) for text in programs]
    assert digest(commands) == evidence.provenance(RANDOM)["commands"]["sha256"]
    assert commands == [command for run in CASE.runs for command in CASE.commands(run)]


def test_acks_are_bundled_at_ten_times_of_which_the_last_is_the_end() -> None:
    acks, flows = (evidence.table(RANDOM, name) for name in ("acks", "flows"))
    assert len(acks) == TIMES * len(flows)
    last = acks.groupby(["seed", "flow"]).last()
    assert last["acknowledged"].tolist() == flows["acknowledged"].tolist()
    durations = evidence.table(RANDOM, "networks").set_index("seed")["duration"]
    assert (
        last["time"].round(9) == durations.loc[last.index.get_level_values("seed")].values
    ).all()
