"""Linux through its own queue disciplines: words and rows of a run, what is measured, and the packet level beside it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from benchmarks.linux_agreement import FOLDER
from benchmarks.linux_queues import (
    SWITCHES,
    TOLERANCES,
    WITHOUT_MODEL,
    compared,
    measures_of_trace,
    run_of,
)
from validation.generate.linux import output
from validation.generate.linux.program import LinuxKernel
from validation.generate.linux.queue_cases import CASES
from validation.networks.queue_measures import PATHS, SECONDS, SINCE, measures_of_linux, thresholds

TOTALS = (
    "bytes=1448 data_packets=3 queue_drops=1 losses=0 retransmissions=1 timeouts=0 min_rtt=40640 mss=1448 "
    "rwnd_limited=0 sndbuf_limited=0 dsacks=0 reordered=0"
)
PRINTED = "\n".join(
    [
        "sysctl queue/target 4999",
        "queue 100000000 2 3000 1 4 0.5 3 9000000 1000000 6000000",
        "queue 200000000 0 0 1 4 0.25 0 0 0 0",
        "drop 90000000 2 queue",
        f"flow 2 {TOTALS}",
        "delays 2 4 7 5 1 2 3 4 5 6",
        "link delivered=3 worst_lateness=17 digest=0123456789abcdef",
    ]
)


def test_words_of_a_run_with_a_queue() -> None:
    (words,) = output.calls(run_of("codel", "mixed-drawn-1"))
    assert words == [
        "rate=11400000.0", "delay=0.033", "seconds=40", "sample=0.1", "discipline=codel", "since=10.0",
        "flow=cubic@0.0", "flow=reno@0.1", "flow=cubic@0.2", "extra=0.066",
        "flow=reno@0.3", "message=1448", "interval=0.05",
    ]  # fmt: skip
    (words,) = output.calls(run_of("step", "one-seen"))
    assert words[4:6] == [
        "discipline=red:limit=1500000,min=21000,max=21001,wlog=0,probability=1,ecn=1", "ecn=1",
    ]  # fmt: skip


def test_rows_of_a_run_with_a_queue() -> None:
    rows = output.read(run_of("codel", "mixed-drawn-1"), Path(), [PRINTED])
    (total,) = rows["runs"]
    assert set(output.QUEUE_TABLES["runs"].columns) <= set(total)
    assert (total["rule"], total["extra"], total["message"], total["marks"]) == ("cubic", 0.066, 0, 4)  # fmt: skip
    assert [total[name] for name in ("delayed", "delay", *output.QUANTILES)] == [7, 5, *range(1, 7)]
    first, second = rows["queues"]
    assert first == {
        "run": "mixed-drawn-1", "time": 0.1, "packets": 2, "backlog": 3000, "drops": 1, "marks": 4,
        "control": 0.5, "left": 3, "delay": 3_000_000, "least": 1_000_000, "most": 6_000_000,
    }  # fmt: skip
    assert (second["left"], second["delay"], second["control"]) == (0, 0, 0.25)
    assert rows["settings"] == [{"run": "mixed-drawn-1", "name": "queue/target", "value": "4999"}]
    assert rows["drops"][0]["time"] == 0.09


def test_runs_with_queues_are_made_by_their_sources() -> None:
    """The cases with the link of the emulator were made without them."""
    assert {case.program for case in CASES} == {LinuxKernel(queues=True)}
    assert [Path(name).name for name in LinuxKernel(queues=True).sources] == [
        "linkemu.c", "queues.c", "queues.h", "kernel.config", "build.sh",
    ]  # fmt: skip
    assert "queues.c" not in str(LinuxKernel().sources)


def test_thresholds_are_of_the_path() -> None:
    assert thresholds(*PATHS["seen"]) == {"buffer": 134, "low": 9, "high": 25, "step": 14}


def test_measures_of_packets_follow_from_their_times() -> None:
    """Ten packets a second after the beginning, of which one is dropped and two are marked; delays of 0 to 8 ms."""
    count = 10
    events = np.zeros(
        count + 1,
        [(name, float) for name in ("flow", "arrived", "sent", "drop_time")]
        + [("ack", bool), ("marked", bool)],
    ).astype(
        [("flow", int), ("arrived", float), ("sent", float), ("drop_time", float), ("ack", bool), ("marked", bool)]
    )  # fmt: skip
    events["arrived"] = SINCE + 0.01 * np.arange(count + 1)
    events["sent"] = events["arrived"] + 1e-3 * np.arange(count + 1)
    events["drop_time"] = np.nan
    events["sent"][9], events["drop_time"][9] = np.nan, SINCE + 1.0
    events["flow"][::2] = 1
    events["marked"][3:5] = True
    events["ack"][10] = True
    run = {"rules": ("reno", "reno"), "messages": {1: (1448, 0.1)}, "rate": 12e3}
    found = measures_of_trace(SimpleNamespace(events=events), run)
    seconds = SECONDS - SINCE
    assert found.rates == (4 / seconds,)
    assert found.used == pytest.approx(9 / seconds)
    assert (found.delay, found.drops, found.marks, found.signals) == (pytest.approx(4.0), 1, 2, 3)
    assert found.standing == pytest.approx(0.0)
    assert found.sparse == pytest.approx(np.quantile([0, 2, 4, 6, 8], 0.99))
    assert (found.share, found.evenness) == (1.0, 1.0)


def test_measures_of_linux_begin_after_the_warm_up() -> None:
    """The link is full with drop-tail; its kernel drops what senders repair."""
    found = measures_of_linux("pfifo", "seven-drawn-1")
    assert found.used == pytest.approx(1.0, abs=2e-3)
    assert found.marks == 0.0
    assert found.drops > 0.0
    assert len(found.rates) == 7
    assert sum(found.rates) < 11.4e6 / 12_000


# The packet level beside Linux: rows of the written table made again.


@pytest.mark.parametrize(
    ("discipline", "run"),
    [
        pytest.param(
            case.name.removeprefix("linux/queue-"),
            run["run"],
            marks=[] if run["run"].endswith(("drawn-3", "fresh")) else pytest.mark.slow,
        )
        for case in CASES
        for run in case.runs
        if not case.name.endswith(WITHOUT_MODEL)
    ],
)
def test_managers_beside_those_of_linux(discipline: str, run: str) -> None:
    written = pd.read_csv(FOLDER / "linux_queues.csv").set_index(["discipline", "run", "quantity"])
    found = list(compared({(discipline, run)}))
    assert len(found) == len(TOLERANCES)
    for each in found:
        row = written.loc[(discipline, run, each["quantity"])]
        assert float(row["linux"]) == pytest.approx(each["linux"], rel=1e-9, nan_ok=True)
        assert float(row["hopflow"]) == pytest.approx(each["hopflow"], rel=1e-9, nan_ok=True)
        assert str(row["holds"]) == str(each["holds"]).replace("None", "nan")


def distance(discipline: str, run: str, quantity: str, switch: str | None = None) -> float:
    """Return how far a quantity is from that of Linux, as a part of it, with a part switched or without."""
    options = SWITCHES[switch] if switch else {}
    rows = {row["quantity"]: row for row in compared({(discipline, run)}, **options)}
    return abs(rows[quantity]["hopflow"] / rows[quantity]["linux"] - 1.0)


@pytest.mark.parametrize(
    ("discipline", "run", "quantity", "switch", "rest"),
    [
        # the last number is what was expected without the part that is switched, or less
        ("red", "seven-drawn-3", "used", "RED of the kernel", 0.02),
        ("red", "mixed-drawn-1", "delay", "RED of the kernel", 0.05),
        ("red", "mixed-drawn-1", "signals", "RED of the kernel", 0.05),
        ("pie", "seven-drawn-2", "signals", "PIE without clusters of drops", 0.08),
        ("pie", "mixed-drawn-1", "signals", "PIE without clusters of drops", 0.05),
        ("step", "four-drawn-3", "signals", "no growth of DCTCP after a cut", 0.25),
        ("codel", "seven-drawn-1", "delay", "delays measured a transmission early", 0.05),
    ],
)
def test_what_a_difference_depends_on(discipline, run, quantity, switch, rest) -> None:
    before = distance(discipline, run, quantity)
    after = distance(discipline, run, quantity, switch)
    assert after < rest
    assert after < 0.6 * before


def test_codel_drops_what_linux_drops() -> None:
    """Within 6 % in each run with three or seven flows, on all paths."""
    written = pd.read_csv(FOLDER / "linux_queues.csv")
    rows = written[(written["discipline"] == "codel") & (written["quantity"] == "signals")]
    several = rows[~rows["run"].str.startswith("one")]
    assert len(several) == 8
    assert (several["hopflow"] / several["linux"] - 1.0).abs().max() < 0.06


def test_the_expectations_that_hold_are_counted() -> None:
    written = pd.read_csv(FOLDER / "linux_queues.csv")
    drawn = written[written["run"].str.contains("drawn")].dropna(subset="holds")
    holds = drawn["holds"].astype(str) == "True"
    assert (int(holds.sum()), len(drawn)) == (249, 300)
    of = holds.groupby(drawn["discipline"]).agg(["sum", "size"])
    assert of.loc["codel"].tolist() == [52, 54]
    fresh = written[written["run"].str.endswith("fresh")]["holds"].astype(str)
    assert (len(fresh), set(fresh)) == (18, {"True"})
    assert "249 of 300 expectations" in (FOLDER / "linux_queues.md").read_text()
