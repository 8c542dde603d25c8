"""CUBIC beside NewReno in ns-3 with the recovery of RFC 6937: options, rows, and our packet level beside them."""

from __future__ import annotations

import pandas as pd
import pytest

from benchmarks import ns3_sharing
from benchmarks.ns3_sharing import FOLDER, TARGET, bottleneck, matched_share
from validation import table
from validation.generate.packets import recoveries

CASE = "packets/sharing-rfc6937-ns3"


@pytest.mark.simulators
def test_ns3_repeats_the_bundled_rows(repeats) -> None:
    repeats(CASE, rate=10e6, rtt=0.02, buffer=8, seed=1)


def test_options_and_rows() -> None:
    run = recoveries.CASES[0].runs[0]
    ((first, *words),) = recoveries.calls(run)
    assert first == "--leastTimeout=1.0", "the program takes this option first"
    assert {"--ns3::TcpL4Protocol::RecoveryType=Rfc6937Recovery", "--begin=100.0"} <= {*words}
    printed = ["flow 433800000\nflow 867600000\nqueue 1.5 7\n"]
    (row,) = recoveries.read(run, None, printed)["runs"]  # type: ignore[arg-type]
    assert (row["goodput_cubic"], row["goodput_reno"]) == (1000.0, 2000.0)
    assert (row["queue"], row["drops"]) == (1.5, 7)


def test_a_share_beside_that_of_ns3() -> None:
    """One path of 16, both seeds of ns-3 and three of ours; 0.04 is the target of the median."""
    runs = table(CASE, "runs").query("rate == 1e7 and rtt == 0.08 and buffer == 333")
    assert len(runs) == 2
    ns3 = (runs["goodput_cubic"] / (runs["goodput_cubic"] + runs["goodput_reno"])).mean()
    path = bottleneck({"rate": 1e7, "rtt": 0.08, "buffer": 333}, 100.0, 400.0)
    ours = sum(matched_share(path, seed) for seed in ns3_sharing.SEEDS) / 3
    assert ours == pytest.approx(ns3, abs=TARGET)


def test_bbrs_share_falls_by_the_timer_alone_where_the_queue_is_longer() -> None:
    """From near half to less than a tenth in ns-3, by a least timeout of 0.2 s and a queue of 0.4 s."""
    runs = table("packets/sharing-bbr-rfc6937-ns3", "runs").set_index(["least_timeout", "recovery"])
    runs = runs.query("begin == 100 and rtt == 0.08 and buffer == 333")
    share = runs["goodput_bbr"] / (runs["goodput_bbr"] + runs["goodput_cubic"])
    assert share[0.2, "rfc6937"] < 0.1
    assert share[1.0, "rfc6937"] > 0.4


def test_bbrs_options_and_a_share_beside_that_of_ns3() -> None:
    """One path of 8, its seed and three of ours."""
    run = recoveries.CASES[2].runs[0]
    ((_, *words),) = recoveries.calls(run)
    assert {"--first=ns3::TcpBbr", "--second=ns3::TcpCubic"} <= {*words}
    (row,) = recoveries.read(run, None, ["flow 433800000\nflow 867600000\nqueue 1.5 7\n"])["runs"]  # type: ignore[arg-type]
    assert (row["goodput_bbr"], row["goodput_cubic"]) == (1000.0, 2000.0)
    runs = table("packets/sharing-bbr-rfc6937-ns3", "runs").query("rtt == 0.02 and buffer == 17")
    first = runs.query("recovery == 'rfc6937' and least_timeout == 1 and begin == 100").iloc[0]
    path = bottleneck({"rate": 1e7, "rtt": 0.02, "buffer": 17}, 100.0, 400.0)
    for pair in ("bbr cubic", "bbr+ cubic"):
        ours = matched_share(path, 1, pair)
        ns3 = first["goodput_bbr"] / (first["goodput_bbr"] + first["goodput_cubic"])
        assert ours == pytest.approx(ns3, abs=TARGET)


def test_the_tables_are_made_from_the_rows() -> None:
    """And the medians that the documentation names: the target is met over all, and just missed by BBR beside CUBIC."""
    values = pd.read_csv(FOLDER / "ns3_sharing.csv")
    text = ns3_sharing.summary(values) + "\n" + ns3_sharing.paths(values)
    assert (FOLDER / "ns3_sharing.md").read_text(encoding="utf-8") == text
    apart = (values["hopflow"] - values["simulator"]).abs()
    equal = values["group"].isin(ns3_sharing.EQUAL)
    assert equal.sum() == 60
    assert apart[equal].median() < TARGET
    medians = apart.groupby(values["group"]).median()
    missed = {"bbr cubic", "cubic newreno", "bbr cubic rfc6937"}
    assert {*medians.index[medians > TARGET]} == missed
    assert round(medians["bbr cubic rfc6937"], 3) == 0.042 < medians["bbr cubic"]


@pytest.mark.slow
def test_shares_beside_those_of_ns3() -> None:
    """The rows of all 16 paths, computed again; in the median within the target."""
    rows = pd.DataFrame(ns3_sharing.rfc6937_pairs())
    kept = pd.read_csv(FOLDER / "ns3_sharing.csv").query("group == 'cubic newreno rfc6937'")
    assert rows["hopflow"].to_numpy() == pytest.approx(kept["hopflow"].to_numpy(), abs=1e-5)
    assert rows["simulator"].to_numpy() == pytest.approx(kept["simulator"].to_numpy(), abs=1e-5)
    assert (rows["hopflow"] - rows["simulator"]).abs().median() < TARGET
