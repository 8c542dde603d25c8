"""Output files and loss events."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from responsefn import loss_events as of_packets
from validation.generate.outputs import lines, loss_events


def test_lines_are_words(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("d 0.1  2\n\nr 3\n")
    assert lines(tmp_path, "x.txt") == [["d", "0.1", "2"], [], ["r", "3"]]


def test_events_are_those_of_responsefn() -> None:
    times = np.sort(np.random.default_rng(1).uniform(0.0, 10.0, 200))
    sequence = np.arange(200)
    assert loss_events(times, 0.1) == len(of_packets(sequence, times, 0.1))
    assert loss_events([], 0.1) == 0
