"""Imposed loss: options, and rows from what ns-2 printed."""

from __future__ import annotations

from pathlib import Path

import pytest

from validation.generate.zheng2002 import loss


@pytest.mark.simulators
@pytest.mark.parametrize("case", ["periodic-loss", "independent-loss-tcp"])
def test_ns2_repeats_the_bundled_rows(repeats, case: str) -> None:
    repeats(f"zheng2002/{case}", packets_per_loss=20, seed=2)


def test_the_decrease_is_given_as_what_is_kept() -> None:
    run = {"loss": "periodic", "rule": "TCP(1/5,1/8)", "packets_per_loss": 100, "seed": 3}
    options = loss.options(run)
    assert (options["increase"], options["decrease"]) == (0.2, 0.875)
    assert options["early"] == round(2.5 * 1.0 * 10)
    assert "decrease" not in loss.options({**run, "rule": "TFRC"})


def test_a_row_counts_drops_since_the_start(tmp_path: Path) -> None:
    (tmp_path / "drops.txt").write_text("d 0.5\nd 1.5\nd 1.51\nd 2.5\n")
    printed = (
        "start 1.0 duration 10.0 sent 300 drops 3 acked 290 resent 3 cuts 2 timeouts 0 rtt 0.05 "
        "window 10.0"
    )
    run = {"loss": "periodic", "rule": "TCP(1,1/2)", "packets_per_loss": 100, "seed": 1}
    (row,) = loss.read(run, tmp_path, [printed])["rates"]
    assert (row["loss_events"], row["p"], row["rate"]) == (2, 0.01, 30.0)
