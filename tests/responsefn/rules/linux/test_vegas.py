"""The module of Linux against the integer arithmetic of its file, written here once more."""

from __future__ import annotations

import pytest

from responsefn import LinuxVegas, Vegas
from responsefn.responses.dynamics import Event


def test_vegas_moves_half_as_fast_as_the_paper_says():
    for rtt in (0.0401, 0.05):
        steps = []
        for rule in (Vegas(), LinuxVegas()):
            state = rule.State(100.0, 2.0, 0.04)
            steps.append(rule.on_ack(state, rule.params, Event(0.0, rtt)).cwnd - 100.0)
        assert steps[1] == pytest.approx(0.5 * steps[0], rel=1e-9)
