"""The chain without DFC: scenarios, options, and ns-2's rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from validation.generate.takano2006 import fifo_chain


@pytest.mark.simulators
@pytest.mark.parametrize(
    ("case", "chosen"),
    [
        ("traces-without-dfc", {"link_rate": 370e6, "agent": "newreno"}),
        ("scenario-1-starts-without-dfc", {"seed": 2}),
        ("scenario-1-recovery-without-dfc", {"agent": "reno", "seed": 1}),
    ],
    ids=["traces", "starts", "recovery"],
)
def test_ns2_repeats_the_bundled_rows(repeats, case: str, chosen: dict[str, object]) -> None:
    repeats(f"takano2006/{case}", **chosen)


def test_scenarios_have_the_paths_of_the_paper() -> None:
    long = fifo_chain.SCENARIOS["4l"]
    assert long.links == {"target": 59, "background": 30}
    assert long.entries[-1] == (30, "background")
    assert fifo_chain.SCENARIOS["4v"].step == fifo_chain.FINE
    assert max(fifo_chain.SCENARIOS["6"].instants) <= 1.5


def test_a_run_overrides_its_scenario() -> None:
    (words,) = fifo_chain.calls({"case": "traces-without-dfc", "agent": "reno", "seed": 0})
    options = dict(zip(words[::2], words[1::2], strict=True))
    assert options["agent"] == "Agent/TCP/Reno"
    assert options["overhead"] == "0.0"
    assert options["sample"] == "0.001"


def test_losses_where_no_queue_can_form_are_an_error(tmp_path: Path) -> None:
    samples = " ".join(["0"] * (6 + 30))
    (tmp_path / "samples.txt").write_text("\n".join([samples] * 600))
    (tmp_path / "drops.txt").write_text("d 0.5 6 7 tcp 1500 ------- 1 0.0 1.0 2 3\n")
    with pytest.raises(RuntimeError, match=r"losses elsewhere.*7"):
        fifo_chain.read({"case": "scenario-1-without-dfc", "seed": 1}, tmp_path, [""])
