"""The experiments of the papers: options of the simulators, and rows of their outputs."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from tests.surface import for_each
from validation import table
from validation.generate.cases import Case
from validation.generate.kaneko2007 import flows, parking_lot, sweeps
from validation.generate.kaneko2007 import unstated_parameters as kaneko_settings
from validation.generate.malhotra2005 import pause_chain, pause_tcp
from validation.generate.takano2006 import dfc_chain, fifo_chain, loaded_node, own_links
from validation.generate.yang2001 import (
    all_ratios,
    priority,
    regulated_sources,
)
from validation.generate.yang2001 import unstated_parameters as yang_settings
from validation.generate.zheng2002 import dumbbell, dumbbell_cases, loss, tfrc_trace
from validation.generate.zheng2002 import unstated_parameters as zheng_settings
from validation.inference.designs import settings

# The chain with DFC: options, and ns-3's rows, in which every packet is accounted for.

RUN_DFC_CHAIN = {"case": "scenario-4v-with-dfc", "buffer": 400, "seed": 2}


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


def test_scenarios_have_the_paths_of_the_paper() -> None:
    long = fifo_chain.SCENARIOS["4l"]
    assert long.links == {"target": 59, "background": 30}
    assert long.entries[-1] == (30, "background")
    assert fifo_chain.SCENARIOS["4v"].step == 1e-3
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


def test_options_and_rows(tmp_path: Path) -> None:
    (words,) = loaded_node.calls(RUN_LOADED_NODE)
    assert {"--megabits=37000", "--level=200", "--hot=1500", "--feedback=1"} <= set(words)
    (row,) = loaded_node.read(RUN_LOADED_NODE, tmp_path, ["node 0.005 -3 120 1 60"])["nodes"]
    assert row == {**RUN_LOADED_NODE, "time": 0.005, "distance": -3, "waiting": 120, "on_link": 60}


@pytest.mark.parametrize("case", loaded_node.CASES, ids=lambda case: case.name)
def test_every_loaded_run_with_traffic_has_one_without_the_load(case: Case) -> None:
    def of(hot: bool) -> set[tuple[object, ...]]:
        runs = (r for r in case.runs if (r["hot"] > 0) is hot and r["mode"] != "alone")
        return {(r["mode"], r["link_rate"], r["seed"]) for r in runs}

    assert of(True) == of(False)


# The runs of hosts with a link of their own.


@pytest.mark.slow  # starts a process
def test_a_run_is_read_into_both_tables(tmp_path: Path) -> None:
    """The shortest run, with DFC: by the command that the provenance names."""
    (case,) = own_links.CASES
    run = next(each for each in case.runs if each["dfc"])
    found = case.execute(run, tmp_path)
    assert len(found["efficiency"]) == 2 * 50
    assert [row["flow"] for row in found["flows"]] == ["target", "background"]
    assert {row["dropped"] for row in found["flows"]} == {0}
    assert all(set(row) == set(case.tables[name].columns) for name in found for row in found[name])


# The pause tandem: options, and rows from the counts of ns-3's batches.

OFF = next(case for case in pause_chain.CASES if case.name.endswith("pause-off"))


def test_a_call_for_every_parameter_set() -> None:
    calls = pause_chain.calls(OFF.runs[2])
    assert len(calls) == len(OFF.runs[2]["points"]) == 4
    assert all("--seed=3" in words and "--rates=25,1" in words for words in calls)
    assert {words[4] for words in calls} == {
        "--paused-rate=2",
        "--paused-rate=50",
        "--paused-rate=0.5",
    }


def test_rows_are_means_of_batches_with_students_half_width(tmp_path: Path) -> None:
    run = {"seed": 1, "points": OFF.runs[0]["points"][:1]}
    counts = np.random.default_rng(1).integers(100, 200, (pause_chain.BATCHES + 1, 14))
    printed = "\n".join(" ".join(map(str, line)) for line in counts)
    (row,) = pause_chain.read(run, tmp_path, [printed])["measures"]
    rates = counts[1:, 11] / (run["points"][0]["seconds"] / pause_chain.BATCHES)
    low, high = stats.t.interval(0.95, 9, rates.mean(), stats.sem(rates))
    assert row["throughput"] == pytest.approx(rates.mean())
    assert row["throughput_half_width"] == pytest.approx((high - low) / 2)
    assert row["delivered"] == counts[:, 11].sum()
    with pytest.raises(RuntimeError, match="table of shape"):
        pause_chain.read(run, tmp_path, ["1 2 3"])


# TCP over two bridges: options, and rows from what ns-3 printed.


def test_pause_on_and_off_have_the_same_options_but_the_thresholds() -> None:
    case = next(case for case in pause_tcp.CASES if case.name.endswith("tcp-flows"))
    on, off = pause_tcp.calls(case.runs[0])[:2]
    assert set(on) ^ set(off) == {"--high=15", "--low=15", "--high=20", "--low=20"}


def test_longer_epochs_are_measured_longer() -> None:
    durations = [pause_tcp.duration(rtt) for rtt in (0.05, 1.0, 2.0, 5.0, 10.0, 20.0)]
    assert durations == sorted(durations)
    assert pause_tcp.simulated_seconds({"points": [{"rtt": 5.0}]}) == 4000.0 + 200.0


def test_many_seeds_repeat_the_points_of_one_rtt() -> None:
    many = pause_tcp.CASES[-1]
    assert {point["rtt"] for run in many.runs for point in run["points"]} == {20.0}
    assert len(many.runs) == 1100


# Flows over bottlenecks: the same options in both simulators, and rows from samples.

RUN = sweeps.a_run({"rules": ["$rule", "reno"], "end": 30.0}, {"rule": "bic"}, seed=2)


def test_both_simulators_get_the_same_numbers() -> None:
    (two,), (three,) = flows.ns2_calls(RUN), flows.ns3_calls(RUN)
    words = dict(zip(two[::2], two[1::2], strict=True))
    options = dict(word.removeprefix("--").split("=") for word in three)
    for name in (
        "rate",
        "buffer",
        "loss",
        "overhead",
        "seed",
        "begin",
        "end",
        "ssthresh",
        "window",
    ):
        assert float(words[name]) == pytest.approx(float(options[name]), rel=1e-5), name
    assert words["rtts"].split() == options["rtts"].split(",")
    assert options["rules"] == "ns3::TcpBic,ns3::TcpNewReno"


def samples(folder: Path, sent: int = 1000) -> None:
    """Write what a run leaves in which both flows send at one rate."""
    time = np.arange(0.0, 31.0, flows.STEP)
    count = np.floor(time / 30.0 * sent)
    flow = [count, count, 0 * count, count, 10.0 + 0 * count]
    columns = [time, 2 * count, 2 * count, 0 * count, 3.0 * time, *flow, *flow]
    np.savetxt(folder / "samples.txt", np.array(columns).T)
    for name in ("drops.txt", "lost.txt"):
        (folder / name).write_text("")


def test_rows_of_hand_made_samples(tmp_path: Path) -> None:
    samples(tmp_path)
    found = flows.read(RUN, tmp_path, [""])
    first, second = found["flows"]
    assert (first["flow_rule"], second["flow_rule"]) == ("bic", "reno")
    assert first["goodput"] == pytest.approx(1000 / 30, rel=0.01)
    assert first["few_events"] == 1
    assert found["links"][0]["mean_queue"] == pytest.approx(3.0)


def test_a_random_drop_that_was_not_traced_is_an_error(tmp_path: Path) -> None:
    samples(tmp_path)
    (tmp_path / "lost.txt").write_text("25.0 1\n")
    with pytest.raises(RuntimeError, match="1 random drops traced, 0 counted"):
        flows.measure(RUN, tmp_path)


# Further seeds of the slides' cases: others than those that they add to, at the same settings.

FIRST = {case.name: case for case in (*sweeps.CASES, *parking_lot.CASES)}
FURTHER = [case for case in FIRST.values() if re.search("-(more-)?seeds-", case.name)]


@for_each(FURTHER)
def test_further_seeds_are_new_ones_of_the_same_settings(case) -> None:
    first = FIRST[re.sub("-(more-)?seeds", "", case.name)]
    known = {run["seed"] for run in first.runs}
    assert not known & {run["seed"] for run in case.runs}
    settings = [run["factors"] for run in first.runs]
    for run in case.runs:
        assert run["factors"] in settings
        same = next(each for each in first.runs if each["factors"] == run["factors"])
        for name in ("rate", "rtts", "buffer", "loss", "begin", "end", "ssthresh", "window"):
            assert run[name] == same[name]


def test_windows_over_time_are_kept_where_a_claim_needs_them() -> None:
    series = {case.name: "series" in case.tables for case in FURTHER}
    assert series["kaneko2007/windows-alone-more-seeds-ns3"]
    assert not series["kaneko2007/windows-with-reno-more-seeds-ns3"]


def test_round_trips_that_are_equal_need_no_further_seeds() -> None:
    (case,) = (c for c in FURTHER if c.name == "kaneko2007/rtt-fairness-more-seeds-ns2")
    assert {run["factors"]["long_rtt"] for run in case.runs} == {0.06, 0.12}


# Three bottlenecks in a row: who goes where.


def test_flows_end_together_and_reverse_flows_cross_one_link() -> None:
    run = parking_lot.CASES[0].runs[-1]
    first, last = run["path"]["from"], run["path"]["to"]
    assert last[:6] == [parking_lot.HOPS] * 6
    assert sorted(b - a for a, b in zip(first[:6], last[:6], strict=True)) == [1, 1, 2, 2, 3, 3]
    assert {b - a for a, b in zip(first[6:], last[6:], strict=True)} == {-1}
    assert len(run["rules"]) == 6 + 3 * run["factors"]["reverse"]


# The cases of the slides: buffers of one BDP, jittered starts.


def test_a_run_fills_in_what_it_is_not_told() -> None:
    run = sweeps.a_run({"rules": ["reno"] * 2, "starts": [0.0, 10.0]}, {}, seed=1)
    assert run["buffer"] == sweeps.bdp(100e6, 0.04) == 333
    assert run["rtts"] == [0.04, 0.04]
    assert run["ssthresh"] == 166
    first, second = run["starts"]
    assert 0.0 <= first < 0.1
    assert 10.0 <= second < 10.1
    assert run["overhead"] == pytest.approx(1.2e-4)


def test_the_same_seed_gives_the_same_starts() -> None:
    one, other = (sweeps.a_run({"rules": [rule]}, {}, seed=3) for rule in ("bic", "cubic"))
    assert one["starts"] == other["starts"]


def test_more_seeds_are_others() -> None:
    cases = {case.name: case for case in sweeps.CASES}
    seeds = [
        {run["seed"] for run in cases[f"kaneko2007/{name}"].runs}
        for name in ("added-delay-ns3", "added-delay-seeds-ns3")
    ]
    assert seeds == [{1}, {2, 3}]


# Settings as words of the module; its lines as rows.

(KANEKO,) = kaneko_settings.CASES


def test_a_run_is_a_setting() -> None:
    assert len(KANEKO.runs) == len(settings("kaneko2007"))
    words = KANEKO.calls(KANEKO.runs[1])[0]
    options = dict(zip(words[::2], words[1::2], strict=True))
    assert options.pop("seed") == "2"
    assert options == {name: str(value) for name, value in settings("kaneko2007")[1].items()}


def test_lines_become_rows() -> None:
    rows = kaneko_settings.read(KANEKO.runs[0], Path(), ["pairs,Reno,BIC,10.5000,80.2500\n"])
    assert rows["pairs"] == [
        {"setting": 1, "experiment": "pairs", "first": "Reno", "second": "BIC",
         "goodput_first": 10.5, "goodput_second": 80.25}
    ]  # fmt: skip
    assert rows["settings"][0]["later"] == settings("kaneko2007")[0]["later"]


# One bottleneck: options, and the balance of its rows.


def test_readings_of_the_decrease() -> None:
    assert dumbbell.spec("TCP(1/5,1/8)", 8, "1-b") == "sack/0.2/0.875/8"
    assert dumbbell.spec("TCP(1/5,1/8)", 8, "b") == "sack/0.2/0.125/8"
    assert dumbbell.spec("TFRC", 8, "b") == "tfrc/0/0/8"
    assert dumbbell.spec("TCP(1/5,1/8)", 8, dumbbell.EXCHANGED) == "sack/0.125/0.8/8"
    assert dumbbell.spec("TCP(1,1/2)", 8, dumbbell.EXCHANGED) == "sack/1.0/0.5/8"


def test_six_digits() -> None:
    assert dumbbell.short(1.23456789) == 1.23457


# The experiments of Sect. 3: readings only where they differ.


def test_readings_differ_only_for_other_decreases_than_one_half() -> None:
    """What keeps one half, and TFRC, is the same in every reading."""
    for case in dumbbell_cases.CASES:
        for run in case.runs:
            if run["factors"].get("reading", "1-b") != "1-b":
                assert any("/0.5/" not in kind for kind in run["options"]["kinds"].split(",") if "sack" in kind)


def test_runs_of_a_case_differ() -> None:
    for case in dumbbell_cases.CASES:
        commands = [command for run in case.runs for command in case.commands(run)]
        assert len(set(commands)) == len(case.runs), case.name


# TCP(a,b) with a and b exchanged: which flows change.

EXCHANGED = [case for case in dumbbell_cases.CASES if "/exchanged-" in case.name]


def test_only_the_gentle_rules_are_exchanged() -> None:
    kinds = {part for case in EXCHANGED for run in case.runs for part in run["options"]["kinds"].split(",")}
    rules = {kind.rpartition("/")[0] for kind in kinds}
    assert rules == {"sack/0.125/0.8", f"sack/0.25/{1 - 3 / 7!r}", "sack/1.0/0.5", "tfrc/0/0"}


def test_each_case_has_the_numbers_of_the_default_one() -> None:
    numbers = [sorted({run["factors"]["number"] for run in case.runs}) for case in EXCHANGED]
    assert numbers == [[8], [1, 2, 4, 8, 16, 32, 64], [4, 16, 32, 64]]


# Imposed loss: options, and rows from what ns-2 printed.


def test_the_decrease_is_given_as_what_is_kept() -> None:
    run = {"loss": "periodic", "rule": "TCP(1/5,1/8)", "packets_per_loss": 100, "seed": 3}
    options = loss.options(run)
    assert (options["increase"], options["decrease"]) == (0.2, 0.875)
    assert options["early"] == round(2.5 * 1.0 * 10)
    assert "decrease" not in loss.options({**run, "rule": "TFRC"})


def test_a_row_counts_drops_since_the_start(tmp_path: Path) -> None:
    (tmp_path / "drops.txt").write_text("d 0.5\nd 1.5\nd 1.51\nd 2.5\n")
    printed = "start 1.0 duration 10.0 sent 300 drops 3 acked 290 resent 3 cuts 2 timeouts 0 rtt 0.05 window 10.0"
    run = {"loss": "periodic", "rule": "TCP(1,1/2)", "packets_per_loss": 100, "seed": 1}
    (row,) = loss.read(run, tmp_path, [printed])["rates"]
    assert (row["loss_events"], row["p"], row["rate"]) == (2, 0.01, 30.0)


# A TFRC receiver: which intervals were closed, and which packets began them.


def test_closed_intervals_shift_the_history() -> None:
    old = [5, 40, 30, 20, 10]
    assert tfrc_trace.shifts(old, [9, 40, 30, 20, 10]) == 0
    assert tfrc_trace.shifts(old, [2, 7, 40, 30, 20]) == 1
    assert tfrc_trace.shifts(old, [1, 3, 7, 40, 30]) == 2
    with pytest.raises(RuntimeError, match="histories do not fit"):
        tfrc_trace.shifts(old, [1, 1, 1, 1, 1])


def test_events_begin_at_lost_packets() -> None:
    lost = {3, 10, 12, 20}
    packets = {s: {"lost": float(s in lost)} for s in range(30)}
    assert tfrc_trace.event_begins([7, 10], packets) == [10, 20]
    with pytest.raises(RuntimeError, match="do not fit the lost packets"):
        tfrc_trace.event_begins([7, 11], packets)


# The full product of what zheng2002 leaves open, as options of the dumbbell.

(ZHENG,) = zheng_settings.CASES


def test_every_setting_of_every_pair_is_run_once() -> None:
    commands = [command for run in ZHENG.runs for command in ZHENG.commands(run)]
    assert len(set(commands)) == len(ZHENG.runs) == 1044
    gentle = [run for run in ZHENG.runs if run["factors"]["experiment"] == "TCP(1/5,1/8) with TCP(1,1/2)"]
    assert len(gentle) == len(settings("zheng2002"))


def test_exchanged_parameters_are_those_of_the_other() -> None:
    chosen = {
        run["factors"]["decrease"]: run["options"]["kinds"].split(",")[0]
        for run in ZHENG.runs
        if run["factors"]["experiment"] == "TCP(1/5,1/8) with TCP(1,1/2)"
    }
    assert chosen == {
        "1-b": "sack/0.2/0.875/8", "b": "sack/0.2/0.125/8", "exchanged": "sack/0.125/0.8/8",
    }  # fmt: skip


def test_thresholds_and_buffer_follow_the_lower_threshold() -> None:
    for run in ZHENG.runs:
        options = run["options"]
        assert (options["high"], options["buffer"]) == (3 * options["low"], 6 * options["low"])


@pytest.mark.slow  # a run of ns-2 takes a second
@pytest.mark.skipif(shutil.which("ns") is None, reason="ns-2 is not installed: apt-get install ns2")
def test_ns2_repeats_a_bundled_link_of_a_setting(tmp_path: Path) -> None:
    run = ZHENG.runs[-1]
    (row,) = ZHENG.execute(run, tmp_path)["link"]
    bundled = table(ZHENG.name, "link").iloc[-1]
    assert row == {name: bundled[name] for name in row}


# The ratios of TCP to UDP that the cases of Table 4 leave out.


def test_with_the_cases_of_table_4_seven_seeds_have_all_ratios_of_the_paper_once() -> None:
    of_table_4 = [case for case in priority.CASES if {"Y13", "Y18"} & set(case.claims) and "/sens" not in case.name]
    runs = [
        (run["environment"], run["discipline"], run["seed"], run["tcp_flows"])
        for case in (*of_table_4, *all_ratios.CASES)
        for run in case.runs
        if "parameter" not in run
    ]
    assert len(set(runs)) == len(runs)
    rows = {(environment, discipline) for environment, discipline, *_ in runs}
    assert len(rows) == 5 * 4
    expected = {(*row, seed, ratio) for row in rows for seed in range(1, 8) for ratio in range(81, 100)}
    assert set(runs) == expected


# Sources that control their flows: options and durations.


def test_an_environment_is_the_mechanisms_of_both_sources() -> None:
    options = priority.options({"environment": "cc/be", "tcp_flows": 81, "size": 10**6, "seed": 1})
    assert (options["s1"], options["s2"]) == ("cc", "be")
    assert (options["tcp1"], options["udp2"]) == (81, 19)


def test_one_parameter_differs_from_the_default() -> None:
    runs = priority.varied({"varied": "queues", "options": {"discipline": "FCFS"}})
    assert {run["seed"] for run in runs if run["parameter"] == "default"} == {1, 2, 3, 4, 5}
    (run,) = (run for run in runs if run["parameter"] == "DRR.drr_quantum" and run["seed"] == 1)
    assert (run["discipline"], run["drr_quantum"], run["value"]) == ("DRR", 1000, "1000")
    assert "parameter" not in priority.options(runs[-1])


def test_a_run_lasts_as_long_as_its_load_needs() -> None:
    run = {"size": 10**6, "seed": 1}
    assert priority.duration(run) == pytest.approx(8 * 13 * 10**6 / 1e6 + priority.DRAIN)
    assert priority.duration({"size": 0, "limit": 200.1, "seed": 1}) == 200.1


# Rows of Table 4 without best effort: settings of the inference.


def test_settings_and_seeds_are_those_of_the_inference() -> None:
    (case,), (other,) = regulated_sources.CASES, yang_settings.CASES
    known = {run["setting"]: (run["seed"], run["chosen"]) for run in other.runs}
    assert {run["environment"] for run in case.runs} == {"cc/cc", "ts/ts"}
    assert len(case.runs) == 16 * 2 * 4
    assert all(known[run["setting"]] == (run["seed"], run["chosen"]) for run in case.runs)


# Settings as options of the two scripts; rows as the table's.

(YANG,) = yang_settings.CASES


def test_thresholds_of_red_are_three_apart() -> None:
    words = YANG.calls(YANG.runs[0])[0]
    options = dict(zip(words[::2], words[1::2], strict=True))
    assert float(options["red_max"]) == pytest.approx(3 * float(options["red_min"]))
    assert (options["s1"], options["tcp1"], options["udp1"]) == ("be", "90", "10")


@pytest.mark.slow  # a run of ns-2 takes two seconds
@pytest.mark.skipif(shutil.which("ns") is None, reason="ns-2 is not installed: apt-get install ns2")
def test_ns2_repeats_bundled_transfer_times_of_a_setting(tmp_path: Path) -> None:
    run = YANG.runs[0]
    rows = YANG.execute(run, tmp_path)["times"]
    bundled = table(YANG.name, "times")
    for name in ("setting", "environment", "discipline"):
        bundled = bundled[bundled[name] == run[name]]
    assert [row["time"] for row in rows] == bundled["time"].tolist()


# kaneko2007's cases cover the slides.


KANEKO_CASES = [*sweeps.CASES, *parking_lot.CASES]
SLIDES = ("reno", "fusion", "areno", "compound", "highspeed", "bic", "cubic")


def test_every_claim_has_a_case() -> None:
    claims = {claim for case in KANEKO_CASES for claim in case.claims}
    assert claims == {f"K{n:02d}" for n in range(1, 13)}


def test_both_orders_of_all_pairs_and_fast() -> None:
    ordered = {
        (run["rules"][0], run["rules"][1], case.program.tool)
        for case in KANEKO_CASES
        if case.claims == ("K03",)
        for run in case.runs
    }
    both = {(a, b) for a, b, _ in ordered}
    assert both == {(a, b) for a in (*SLIDES, "fast") for b in (*SLIDES, "fast")}


def test_ns2_has_ten_rules_and_ns3_eight() -> None:
    by_name = {case.name: {run["rules"][0] for run in case.runs} for case in KANEKO_CASES}
    ten = by_name["kaneko2007/loss-sweep-ns2"]
    assert ten == {
        *("reno", "highspeed", "bic", "cubic", "compound"),
        *("westwood", "htcp", "scalable", "vegas", "illinois"),
    }
    assert by_name["kaneko2007/loss-sweep-ns3"] == {*SLIDES, "fast"}


@for_each(KANEKO_CASES)
def test_runs_differ_and_their_times_are_jittered(case) -> None:
    assert len({case.shard(run) for run in case.runs}) == len(case.runs)
    for run in case.runs:
        assert run["overhead"] == pytest.approx(12000 / run["rate"])
        assert len(set(run["starts"])) == len(run["starts"])
