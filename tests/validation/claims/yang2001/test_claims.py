"""The claims on priorities: what decides them, and evidence that says otherwise."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from responsefn import PFTK
from validation import Verdict, evidence
from validation.claims import find
from validation.claims.effect_claims import where
from validation.claims.effect_statements import EQUAL
from validation.claims.yang2001 import load, priorities, queueing, sharing, tables
from validation.claims.yang2001.best_effort import AS_THE_SENTENCE, QUEUES, times_alone
from validation.claims.yang2001.mechanisms import between
from validation.claims.yang2001.parameters import (
    LARGEST_MULTIPLE,
    LONG_QUEUES,
    SMALL_CASES,
    SMALLEST_MULTIPLE,
    _after_turns,
    _aged,
    _deviations,
    _from_its_turn,
    _in_turn,
    _lower_is_slower,
    _modelled_out_of_turn,
    _out_of_turn,
    _small,
    _small_classes,
    _total_times,
    _violated,
)
from validation.claims.yang2001.queueing import _against
from validation.claims.yang2001.sharing import CAPACITY, SIZE, transfer_times, turns
from validation.claims.yang2001.spreads import (
    FEW_SLOTS,
    OTHER_RATIOS,
    STEPS,
    _beyond_half,
    _last_step,
    _spread_at,
    _steps,
    means,
)
from validation.records import rows
from validation.statistics import LEVEL, everywhere, of_runs

# Transfers of best effort.


def test_times_by_queue_are_means_of_flows_by_seed() -> None:
    found = times_alone("UDP", "SFQ.sfq_limit", 10)
    runs = evidence.table(QUEUES[0]).query("parameter == 'SFQ.sfq_limit' and value == '10'")
    assert set(found.index) == set(runs["seed"])
    first = runs[(runs["seed"] == found.index[0]) & (runs["protocol"] == "UDP")]
    assert found.iloc[0] == pytest.approx(first["transfer_time"].mean())


# TCP and UDP on a slow link.


def test_the_share_by_the_law_is_that_of_pftk_at_the_loss_of_the_overload() -> None:
    """Six sources of 448 kb/s on 1 Mb/s lose 1 - 1/2.688; a full buffer takes 0.4 s."""
    rate = float(PFTK().rate(p=1 - 1 / 2.688, rtt=0.448))
    assert abs(load.share_by_law() - 7 * rate * 8000 / 1e6 / 2.688) < 1e-12


# Differences of classes between mechanisms.


def test_differences_are_relative_to_the_first_environment() -> None:
    """TCP1 under FCFS, the first of all, by the means of the runs."""
    found = between("cc/cc", "ts/ts", "cc", "ts")
    assert len(found) == len(tables.DISCIPLINES) * len(tables.CLASSES)
    cc, ts = tables.seen("cc/cc", "FCFS")["cc", "TCP1"], tables.seen("ts/ts", "FCFS")["ts", "TCP1"]
    assert found[0].value == pytest.approx((ts / cc - 1.0).mean())


# Small transfers, slots per turn, and ageing.


def test_turns_of_the_default_length_set_the_classes_apart() -> None:
    """The same quantity that is near zero with many slots."""
    assert max(abs(e.value) for e in _after_turns(LARGEST_MULTIPLE)) < 0.1
    assert max(abs(e.value) for e in _after_turns(1.0)) > 0.3


def test_flows_in_turn_end_in_equal_steps() -> None:
    """Ends at k/n of the total are at their turn; flows that end together, or in the reverse order, are half of it away."""
    steps = np.arange(1.0, 101.0)
    distances = [_from_its_turn(pd.Series(ends)) for ends in (steps, 7.0 * steps, np.ones(100), steps[::-1])]
    assert distances == pytest.approx([0.0, 0.0, 0.495, 0.5])


def test_classes_that_end_together_are_not_served_in_order() -> None:
    """With a 64th of the slots the classes are as equal as with 64 times the slots, but every flow ends at the end."""
    for scale in (SMALLEST_MULTIPLE, LARGEST_MULTIPLE):
        assert max(abs(e.value) for e in _deviations(scale)) < EQUAL
    assert _out_of_turn(LARGEST_MULTIPLE).value < 0.01
    assert _out_of_turn(SMALLEST_MULTIPLE).value > 0.4
    assert _modelled_out_of_turn(LARGEST_MULTIPLE).value < 0.01
    assert _modelled_out_of_turn(1.0).value > 0.2


def test_deviations_of_the_classes_cancel() -> None:
    assert sum(e.value for e in _aged("cc/cc")) == pytest.approx(0.0, abs=1e-12)


def test_without_losses_the_total_time_hardly_depends_on_the_ratio() -> None:
    """Y10's experiment: with DRR's own queue the last timer decides, without losses the load."""
    usual, long = (_total_times(case) for case in (SMALL_CASES[1], LONG_QUEUES))
    assert usual[1].value > 1.3 * usual[0].value
    assert long[1].value == pytest.approx(long[0].value, rel=0.1)


def test_a_longer_queue_does_not_restore_the_order() -> None:
    """Under ts/ts flows end in the order of their beginnings; beside best effort, with DRR's queue or a longer one, they do not."""
    alone = _in_turn(_small("DRR", environment="ts/ts", mechanism="ts"))[0]
    beside = _in_turn(_small("DRR", environment="ts/be", mechanism="ts"))[0]
    longer = _in_turn(where(LONG_QUEUES, environment="ts/be", mechanism="ts"))[0]
    assert alone.value == pytest.approx(1.0)
    assert max(e.value + e.half_width for e in (beside, longer)) < 1.0 - EQUAL


def test_parts_of_runs_are_parts() -> None:
    for parameter in (None, "check", "hold"):
        assert 0.0 <= _violated(parameter).value <= 1.0


# Claims about Table 4: what another order of the data would say.


def test_the_fluid_model_is_near_the_runs_under_cc() -> None:
    """Within a fifth for every class of TCP: nothing of the model is fitted."""
    model, packets = (
        priorities.modelled("cc/cc", "FCFS").iloc[0],
        tables.seen("cc/cc", "FCFS").mean(),
    )
    for kind in tables.TCP:
        assert model["cc", kind] == pytest.approx(packets["cc", kind], rel=0.2)


def test_a_reversed_order_is_contradicted() -> None:
    frame = tables.seen("cc/cc", "FCFS")
    upside_down = frame.rename(columns={"TCP1": "TCP4", "TCP4": "TCP1"})
    assert min(e.value for e in tables.ordered(upside_down, "cc")) < 0


def test_unused_slots_are_seen_in_packets_only() -> None:
    finding = find("Y17").check()
    assert (finding.model, finding.simulation) == (Verdict.NOT_APPLICABLE, Verdict.DEPENDS)


# Which discipline is best and worst for which flows.


def test_the_best_discipline_is_ahead_of_each_other_and_not_behind() -> None:
    times = {d: [10.0 + n, 10.5 + n] for n, d in enumerate(tables.DISCIPLINES)}
    frame = pd.DataFrame(times)
    first = tables.DISCIPLINES[0]
    assert min(e.value for e in _against(frame, first, 1.0)) > 0.0
    assert max(e.value for e in _against(frame, first, -1.0)) < 0.0
    assert len(_against(frame, first, 1.0)) == len(tables.DISCIPLINES) - 1


def test_the_mean_of_the_disciplines_has_an_error_too() -> None:
    """Of a discipline whose times are the same at all seeds, as far as those of the others scatter."""

    def constant(case: str, file: str, whole: pd.DataFrame) -> pd.DataFrame:
        if case != "yang2001/ts-ts-fcfs" or not file.startswith("flows"):
            return whole
        return whole.assign(transfer_time=whole.groupby(["protocol", "priority"])["transfer_time"].transform("mean"))

    with evidence.changed(constant):
        first = priorities.order_of_ts.measure().statements["independent"].quantities[""][0]
        times = tables.seen("ts/ts", "FCFS")["ts", "TCP1"]
    assert np.ptp(times) < 1e-9
    assert first.error > 1e-4


def test_the_fluid_judges_no_discipline_and_no_slot() -> None:
    """It gives FCFS and RED, and DRR and SFQ, equal times, and fills every slot."""
    for one, other in (("FCFS", "RED"), ("DRR", "SFQ")):
        assert (sharing.modelled("ts/ts", one).to_numpy() == sharing.modelled("ts/ts", other).to_numpy()).all()
    for claim in ("Y12", "Y17"):
        assert {p.model for p in find(claim).check().parts} == {Verdict.NOT_APPLICABLE}
    ordered, independent, _ = find("Y04").check().parts
    assert (ordered.model, independent.model) == (Verdict.HOLDS, Verdict.NOT_APPLICABLE)


def test_slots_order_the_classes_in_all_settings_and_disciplines_differ_where_windows_fit_short_queues() -> None:
    """The order is certain in each setting of what the paper leaves open; windows that fit short queues do not make the times equal."""
    readings = {r.name: [part.simulation for part in r.parts] for r in find("Y04").check().readings}
    settings = [verdicts for name, verdicts in readings.items() if " = " in name]
    assert len(settings) == 15
    assert {verdicts[0] for verdicts in settings} == {Verdict.HOLDS}
    assert readings["short queues and small windows"][:2] == [Verdict.HOLDS, Verdict.CONTRADICTED]


def test_table_4_itself_has_ts_below_cc_under_drr() -> None:
    """Means of both sources: 1360 s against 1386 s, and 1890 s against 2318 s, where ns-2 has the opposite."""
    (cc, ts), (cc_mixed, ts_mixed) = (
        queueing._mean_times_of_both(*pair, tables.printed) for pair in queueing.CC_AND_TS
    )
    assert (round(ts), round(cc), round(ts_mixed), round(cc_mixed)) == (1360, 1386, 1890, 2318)
    found = [
        queueing._faster_under_drr(*pair, times)
        for times in (tables.printed, tables.seen)
        for pair in queueing.CC_AND_TS
    ]
    assert [e.value > 0.0 for e in found] == [True, True, False, False]


def test_drr_is_compared_with_the_other_disciplines_on_average() -> None:
    """Table 4 has ts over cc 34 and 70 per cent above DRR's elsewhere; ns-2 hardly differs."""
    printed = [queueing._favoured_by_drr(*pair, tables.printed).value for pair in queueing.CC_AND_TS]
    assert printed == pytest.approx([0.345, 0.701], abs=1e-3)
    seen = [queueing._favoured_by_drr(*pair, tables.seen).value for pair in queueing.CC_AND_TS]
    assert max(map(abs, seen)) < 0.05


def test_settings_of_slots_turn_what_they_lose() -> None:
    """With a round trip of 30 ms or turns of four times the slots less than a tenth is lost; by default a sixth."""
    readings = {r.name: r.parts[0].simulation for r in find("Y17").check().readings}
    turned = {name for name, verdict in readings.items() if verdict is Verdict.CONTRADICTED}
    assert turned == {"delay = 0.005", "packet = 1500", "scale = 4", "scale = 16", "scale = 64"}


def test_the_model_is_judged_in_the_readings_of_table_4() -> None:
    """It has no queues, so that their length changes nothing; where each flow counts once, classes with more flows weigh more."""
    kinds = [k for k in sharing.kinds("cc/cc", 81) if k.name == "UDP3"]
    assert {k.number for k in kinds} == {10}
    usual, by_flow = (f("cc/cc", "FCFS")["cc", "UDP3"].iloc[0] for f in (sharing.modelled, sharing.modelled_by_flow))
    times = [
        (kind.number, time)
        for n in sharing.RATIOS
        for kind, time in transfer_times("cc/cc", "FCFS", n).items()
        if kind.name == "UDP3"
    ]
    assert usual == pytest.approx(np.mean([time for _, time in times]))
    weights, values = zip(*times, strict=True)
    assert by_flow == pytest.approx(np.average(values, weights=weights))
    for reading in find("Y11").check().readings:
        assert [part.model for part in reading.parts] == [Verdict.HOLDS, Verdict.CONTRADICTED]


def test_with_short_queues_only_the_first_priority_gains() -> None:
    """Where Table 4 agrees with the paper's text; with ns-2's own queues TCP2 gains under FCFS."""
    printed = {d: tables.printed_gain(d, "TCP2") for d in tables.DISCIPLINES}
    assert tuple(d for d in printed if printed[d] < 0.0) == AS_THE_SENTENCE
    finding = find("Y11").check()
    assert finding.simulation is Verdict.DEPENDS
    (reading,) = [r for r in finding.readings if r.name.startswith("short queues under")]
    assert [part.simulation for part in reading.parts] == [Verdict.HOLDS] * 2


def test_small_transfers_of_udp_are_not_told_apart() -> None:
    """Runs in which a class has no flow do not count: with 99 TCP flows there is one of UDP, of the higher class."""
    for environment in ("cc/cc", "cc/be"):
        part = of_runs(_lower_is_slower(environment, "FCFS", *tables.UDP).to_numpy())
        assert part.value - 0.5 <= part.half_width
    runs = _small_classes("cc/cc", "FCFS")["cc"]
    assert runs.loc[runs["UDP4"].isna(), "UDP3"].notna().any()


# The fluid model of priorities and turns.


@pytest.mark.parametrize("environment", ["cc/cc", "cc/be", "be/be"])
def test_the_last_transfer_ends_when_the_load_is_carried(environment: str) -> None:
    """The link never idles while TCP has something to send: load over capacity."""
    times = transfer_times(environment, "FCFS", 90)
    assert max(times.values()) == pytest.approx(200 * SIZE / CAPACITY)


def test_strict_priority_ends_class_by_class() -> None:
    """50 flows of the first priority of 200 under cc/cc: their share of the whole time."""
    times = transfer_times("cc/cc", "SFQ", 100)
    first = next(t for kind, t in times.items() if kind.priority == 1)
    assert first == pytest.approx(50 * SIZE / CAPACITY)


@pytest.mark.slow
def test_with_short_ageing_nothing_is_left_of_priority() -> None:
    aged = transfer_times("cc/cc", "SFQ", 90, ageing=1e-3)
    assert max(aged.values()) == pytest.approx(min(aged.values()), rel=1e-4)


def test_turns_without_end_are_first_come_first_served() -> None:
    times = turns(90, scale=1e9)["time"].to_numpy()
    assert (times[1:] > times[:-1]).all()
    assert times[0] == pytest.approx(SIZE / (CAPACITY / 2))


def test_flows_that_are_alike_have_equal_weights_in_turns() -> None:
    """The lowest class has 32 of 480 slots: the weights of `_sending` are the slots of a turn."""
    of = [k for k in sharing.kinds("ts/ts", 100) if k.source == 0]
    left = sharing.np.ones(len(of))
    sends = sharing._sending(of, left, 0)
    assert sends.sum() == pytest.approx(1.0)
    assert sends[3] == pytest.approx(32 / 480)


# Spread of the transfer times.


def test_short_turns_leave_no_class_a_spread_of_its_own() -> None:
    usual, few = _spread_at(1.0), _spread_at(FEW_SLOTS)
    assert usual[0] < -10.0 < usual[1].value + 15.0
    assert abs(few[0]) < 0.5
    assert abs(few[1].value) < 0.1


def test_the_last_class_scatters_more_where_acknowledgements_are_lost() -> None:
    step = ("TCP4", "TCP3")
    assert _last_step("lost", step).value > _last_step(None, step).value


@pytest.mark.parametrize(("seeds", "verdict"), [(2, "inconclusive"), (6, "inconclusive"), (7, "contradicted")])
def test_cells_of_one_seed_are_no_independent_runs(seeds: int, verdict: str) -> None:
    """Twenty-four cells that all say no count once for each seed: seven equal seeds are the fewest at one per cent."""
    cells = pd.DataFrame(np.zeros((seeds, 24), dtype=bool))
    assert str(everywhere(_beyond_half(cells), 0.01)) == verdict
    assert str(everywhere(_beyond_half(~cells), 0.01)) == verdict.replace("contradicted", "holds")


def test_the_part_of_a_seed_is_one_number() -> None:
    """Of 48 cells 36 and 37 hold with five seeds: certainly most, as cells that hold in two seeds of three are not."""
    parts = [36, 36, 37, 36, 37]
    cells = pd.DataFrame([[n < part for n in range(48)] for part in parts])
    (excess,) = _beyond_half(cells)
    assert excess.value == pytest.approx(np.mean(parts) / 48 - 0.5)
    assert excess.dof == 4
    assert everywhere((excess,), 0.01) is Verdict.HOLDS
    assert everywhere(_beyond_half(pd.DataFrame([[1, 1], [0, 0], [1, 1]], dtype=bool)), 0.01) is Verdict.INCONCLUSIVE


def test_the_step_of_udp_counts() -> None:
    """A class of UDP that deviates more counts beside the three steps of TCP, in each environment and under each discipline."""
    kinds = {"TCP1": 1.0, "TCP2": 2.0, "TCP3": 3.0, "TCP4": 4.0, "UDP3": 5.0, "UDP4": 4.0}
    spread = pd.DataFrame({kind: [value] * 2 for kind, value in kinds.items()})
    grows = _steps(("cc/cc", "cc/be"), lambda *_: spread)
    assert grows.shape == (2, 2 * 4 * len(STEPS))
    assert grows.mean(axis=1).tolist() == [0.75, 0.75]


def test_seeds_at_some_ratios_only_are_left_out(doctor) -> None:
    """The first seed lacks one ratio, and one of 100 was run at some of them."""

    def other(frame: pd.DataFrame) -> pd.DataFrame:
        first = (frame["seed"] == 1) & (frame["tcp_flows"] == 98)
        return pd.concat([frame[~first], frame[frame["seed"] == 2].assign(seed=100)])

    doctor(OTHER_RATIOS, other)
    assert set(means("cc/cc", "FCFS").index.get_level_values("seed")) == {2, 3, 4, 5, 6, 7}


@pytest.mark.slow
def test_seven_seeds_at_all_ratios_decide() -> None:
    """Two had decided nothing: ts deviates less in most comparisons, and the spread does not grow as the priority falls."""
    below, lower, _ = find("Y13").check().parts
    assert [below.simulation, lower.simulation] == [Verdict.HOLDS, Verdict.CONTRADICTED]
    finding = find("Y18").check()
    decided = [part.simulation for part in finding.parts if not part.minor]
    assert decided == [Verdict.INCONCLUSIVE, *[Verdict.CONTRADICTED] * 4]


def test_a_seed_upholds_that_udp_is_first_at_all_its_sizes_or_not_at_all(doctor, judged) -> None:
    """Late UDP at one size of twenty seeds is 20 of 25 seeds, not 20 of 65 runs."""

    def late(frame: pd.DataFrame) -> pd.DataFrame:
        rows = (frame["size"] == 1_000_000) & (frame["protocol"] == "UDP")
        return frame.assign(transfer_time=frame["transfer_time"].where(~rows, 1e6))

    doctor("yang2001/transfer-times-seeds", late)
    assert judged("Y01")["before"].packets is Verdict.CONTRADICTED


def test_the_table_has_the_deviation_over_the_ratios() -> None:
    """Best-effort UDP beside a regulated source takes 8 s for each of its k flows of a hundred, k = 1 to 19.

    The paper prints 43.79 s (cc/be, FCFS, UDP3 of source 2); flows within a class of a run differ by seconds.
    """
    means = 8.0 * np.arange(1, 20)
    printed = next(
        float(row["standard_deviation_s"])
        for row in rows("yang2001_table6.csv")
        if (row["environment"], row["discipline"], row["traffic_source"], row["flow_class"])
        == ("cc/be", "FCFS", "2", "UDP3")
    )
    assert printed == pytest.approx(means.std(), rel=0.01)


# Transfer times by class, run by run.


def test_a_class_is_the_mean_of_its_flows_in_a_run() -> None:
    case = tables.case_of("cc/cc", "FCFS")
    frame = evidence.table(case)
    own = frame[(frame["priority"] == 2) & (frame["protocol"] == "TCP") & (frame["seed"] == 3)]
    means = own.groupby("tcp_flows")["transfer_time"].mean()
    assert tables.by_seed(case)["cc", "TCP2"].loc[3] == pytest.approx(means.mean())


def test_order_compares_neighbours_of_tcp_and_both_of_udp() -> None:
    assert len(tables.ordered(tables.by_seed(tables.case_of("cc/cc", "FCFS")), "cc")) == 4


def test_short_queues_have_the_same_classes() -> None:
    assert set(tables.short("ts/ts", "DRR").columns) == set(tables.by_seed(tables.case_of("ts/ts", "DRR")).columns)


def test_where_each_flow_counts_once_ratios_with_more_flows_weigh_more() -> None:
    case = tables.case_of("be/be", "FCFS")
    frame = evidence.table(case)
    own = frame[(frame["priority"] == 3) & (frame["protocol"] == "UDP") & (frame["seed"] == 2)]
    sizes = own.groupby("tcp_flows")["transfer_time"].agg(["mean", "size"])
    weighted = (sizes["mean"] * sizes["size"]).sum() / sizes["size"].sum()
    assert tables.by_flow("be/be", "FCFS")["be", "UDP3"].loc[2] == pytest.approx(weighted)
    assert weighted != pytest.approx(tables.by_seed(case)["be", "UDP3"].loc[2], rel=0.01)


def test_udp_is_equal_within_the_margin_in_four_settings_of_cc_and_tcp_in_order_in_all() -> None:
    controls = priorities._orders_in_settings(priorities.CONTROL, "cc")
    udp = {name: each[-1] for name, each in controls.items()}
    equal = {name for name, e in udp.items() if abs(e.value) + e.half_width < EQUAL}
    assert equal == {"acks = lost", "check = 1", "finished = sent", "hold = 0.25"}
    assert all(e.p_positive() < LEVEL for each in controls.values() for e in each[:-1])
