"""The experiments of takano2006: options of both simulators, and rows of their outputs."""

from __future__ import annotations

from pathlib import Path

import pytest

from validation.generate.takano2006 import dfc_chain, fifo_chain, loaded_node
from validation.generate.takano2006.own_links import CASES

# The chain with DFC: options, and ns-3's rows, in which every packet is accounted for.

RUN_DFC_CHAIN = {"case": "scenario-4v-with-dfc", "buffer": 400, "seed": 2}


@pytest.mark.simulators
def test_ns3_repeats_the_bundled_rows_dfc_chain(repeats) -> None:
    repeats("takano2006/dfc-integer-counts", link_rate=37e6, seed=1)


def test_options_are_those_of_the_sweep_and_the_run() -> None:
    (words,) = dfc_chain.calls(RUN_DFC_CHAIN)
    assert {"--megabits=12300", "--buffer=400", "--seed=2", "--target=ns3-vegas"} <= set(words)
    assert not any(word.startswith("--instants=") and ",1.5" in word for word in words)


def test_numbers_and_names() -> None:
    assert [dfc_chain.number(text) for text in ("3", "0.5", "target")] == [3, 0.5, "target"]


def test_packets_that_do_not_add_up_are_an_error(tmp_path: Path) -> None:
    node = "node 1 100 90 0 0 9 5 5 10 -1.0 -1.0"
    with pytest.raises(RuntimeError, match="do not add up"):
        dfc_chain.read(RUN_DFC_CHAIN, tmp_path, [node])
    (row,) = dfc_chain.read(RUN_DFC_CHAIN, tmp_path, [node.replace(" 9 ", " 10 ")])["nodes"]
    assert (row["stored"], row["first_drop"]) == (10, None)


# The chain without DFC: scenarios, options, and ns-2's rows.


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


# One loaded node: options, and ns-3's rows.

RUN_LOADED_NODE = {"mode": "fed back", "link_rate": 37000e6, "hot": 1500, "seed": 3}


@pytest.mark.simulators
def test_ns3_repeats_the_bundled_rows_loaded_node(repeats) -> None:
    repeats("takano2006/loaded-node", mode="alone", link_rate=12300e6, seed=1)


def test_options_and_rows(tmp_path: Path) -> None:
    (words,) = loaded_node.calls(RUN_LOADED_NODE)
    assert {"--megabits=37000", "--level=200", "--hot=1500", "--feedback=1"} <= set(words)
    (row,) = loaded_node.read(RUN_LOADED_NODE, tmp_path, ["node 0.005 -3 120 1 60"])["nodes"]
    assert row == {**RUN_LOADED_NODE, "time": 0.005, "distance": -3, "waiting": 120, "on_link": 60}


def test_every_loaded_run_with_traffic_has_one_without_the_load() -> None:
    def of(hot: bool) -> set[tuple[object, ...]]:
        runs = (r for r in loaded_node.RUNS if (r["hot"] > 0) is hot and r["mode"] != "alone")
        return {(r["mode"], r["link_rate"], r["seed"]) for r in runs}

    assert of(True) == of(False)


# The runs of hosts with a link of their own.


@pytest.mark.slow  # starts a process
def test_a_run_is_read_into_both_tables(tmp_path: Path) -> None:
    """The shortest run, with DFC: by the command that the provenance names."""
    (case,) = CASES
    run = next(each for each in case.runs if each["dfc"])
    found = case.execute(run, tmp_path)
    assert len(found["efficiency"]) == 2 * 50
    assert [row["flow"] for row in found["flows"]] == ["target", "background"]
    assert {row["dropped"] for row in found["flows"]} == {0}
    assert all(set(row) == set(case.tables[name].columns) for name in found for row in found[name])
