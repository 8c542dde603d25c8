"""Few flows under RED: ns-2's rows."""

from __future__ import annotations

import pytest

from validation.generate.packets.red_dumbbells import CASES, FLOWS, SEEDS


@pytest.mark.simulators
def test_ns2_repeats_the_bundled_rows(repeats) -> None:
    repeats("packets/red-dumbbells-ns2", seed=1)


def test_each_run_has_its_own_command() -> None:
    (case,) = CASES
    commands = [command for run in case.runs for command in case.commands(run)]
    assert len(set(commands)) == len(case.runs) == len(FLOWS) * len(SEEDS)
    assert all(" queue RED " in command for command in commands)
