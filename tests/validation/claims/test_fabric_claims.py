"""Claims on fabrics and switches: their judges, their runs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dfcmodel import FIFO
from responsefn import FixedRate
from tests.surface import for_each
from validation import Finding, Verdict, ledger
from validation.checks import subjects
from validation.claims import fabric_runs as shared
from validation.claims.effect_statements import Effects, Statement
from validation.claims.goyal2022 import beside, flows
from validation.claims.guo2016 import operation
from validation.claims.hardware import levels
from validation.claims.hardware.switches import CUTS, Trough, judged_troughs, queue_depths, trough
from validation.claims.hu2016 import rings
from validation.claims.li2019 import telemetry
from validation.claims.mittal2018 import fat_tree
from validation.claims.zhu2015 import incast, sharing
from validation.claims.zhu2016 import dcqcn, timely
from validation.records import entries, expectations, group_of, rows
from validation.statistics import Estimate

ledger()  # loads the claims
SCATTER = (-1e-3, 0.0, 1e-3, 5e-4, -5e-4, 2e-4, -2e-4, 1e-4)
"""Relative differences of runs from their mean: as many as decide where ratios of runs come out equal."""
FABRICS = [id for id, entry in entries().items() if group_of(entry.paper) == "fabrics"]
Functions = Mapping[str, Callable[..., Any]]


def runs(*values: float, count: int = len(SCATTER)) -> list[Any]:
    """Return runs around these values: a list for each run, or numbers where there is one value."""
    found = [[value * (1.0 + each) for value in values] for each in SCATTER[:count]]
    return [each[0] for each in found] if len(values) == 1 else found


def always(value: Any) -> Callable[..., Any]:
    return lambda *_: value


def by(values: Mapping[Any, Any], place: int = 0) -> Callable[..., Any]:
    return lambda *args: values[args[place]]


def lots(*rates: float) -> Functions:
    """Return rates of the parking lot with PFC alone, by run and choice of uplinks, and of the fluid."""
    return {
        "lot_rates": always([[each] * 8 for each in runs(*rates)]),
        "lot_rates_of_fluid": always([list(rates)] * 8),
    }


def victims(*rates: float) -> Functions:
    return {
        "victim_rates": always(runs(*rates)),
        "victim_rates_by_choice": always(
            [[[rate] * len(each) for rate, each in zip(run, sharing.CHOICES, strict=True)] for run in runs(*rates)]
        ),
        "victim_rates_of_fluid": always(list(rates)),
    }


def queues(small: tuple[float, float], large: tuple[float, float]) -> Functions:
    """Return mean and deviation of the queue with the small gain and with the large one, of any number of senders."""
    by_gain = dict(zip(incast.GAINS, (small, large), strict=True))

    def packets(_: int, g: float) -> list[Any]:
        return runs(*by_gain[g])

    return {
        "queues": packets,
        "queues_of_fluid": lambda _, g: runs(*by_gain[g], count=1),
        **settled_incasts(lambda _, g: runs(*by_gain[g], 0.98)),
    }


def settled_incasts(packets: Callable[..., Any]) -> Functions:
    """Return what incasts have after they have settled; the fluid is as the first run of packets."""

    def settled(*args: Any) -> list[Any]:
        return [incast.Settled(*each) for each in packets(*args)]

    return {"settled": settled, "settled_in_fluid": lambda *args: settled(*args)[:1]}


def links(rate: float) -> Functions:
    """Return the part of the link that incasts use, early and after they have settled."""
    return {
        "used": lambda level: [runs(rate) if level == "packets" else [rate]] * 3,
        **settled_incasts(lambda *_: runs(10.0, 5.0, rate)),
    }


def hosts_with_dcqcn(*rates: float) -> Functions:
    """Return the victim's rates with DCQCN without and with further senders, and those of Q03 with PFC alone."""
    own, alone = runs(*rates), runs(0.25, 0.11)
    return {
        **victims(0.25, 0.18, 0.11),
        "victim_rates_of_dcqcn": always(own),
        "settled_victim_rates": always(own),
        "settled_victim_rates_by_hash": always([list(pair) for pair in zip(own, alone, strict=True)]),
    }


def on_ring(two: bool, three: bool, count: int = 8) -> Functions:
    """Return runs on the ring of two flows and of more, which are deadlocked or not."""

    def outcomes(case: str, level: str) -> list[list[rings.Outcome]]:
        dead = two if case == rings.TWO else three
        return [[rings.Outcome(dead, 0.0 if dead else 0.5)] * 2] * (count if level == "packets" else 1)

    return {"outcomes": outcomes}


def seen(values: Mapping[Any, tuple[float, float]], rates: float = 1.0) -> Functions:
    """Return what is seen of runs of DCQCN by number of flows, delay and place of marks, at all times; the fluid as packets."""

    def packets(count: int, rtt: float, at: str = "departure", _: bool = False, base: Any = ()) -> list[Any]:
        mean, deviation = values[(count, rtt, at)]
        own = [rates, 2.0 - rates] * (count // 2)
        return [
            dcqcn.Seen(*each)
            for each in zip(runs(*own), runs(mean), runs(deviation), strict=True)
        ]  # fmt: skip

    def fluid(count: int, rtt: float, _: bool = False) -> list[Any]:
        return packets(count, rtt)[1:2]

    def long_rates(count: int) -> list[list[float]]:
        spreads = [abs(1.0 - rates) + 0.01 + each for each in SCATTER]
        return [[1.0 - spread, 1.0 + spread] * (count // 2) for spread in spreads]

    return {
        "seen": packets, "settled": packets, "seen_in_fluid": fluid, "settled_in_fluid": fluid, "long_rates": long_rates
    }  # fmt: skip


def queue_of(count: int) -> float:
    return dcqcn.queue_of(dcqcn.fixed_points(count)[0])


NEAR, FAR = dcqcn.SHORT_DELAY, dcqcn.LONG_DELAY
AT_REST = {(n, NEAR, "departure"): (queue_of(n), 5.0) for n in (2, 4, 8, 10)}
SAME_QUEUE = {(n, NEAR, "departure"): (50.0, 5.0) for n in (2, 4, 8, 10)}
SWINGS = {
    (10, NEAR, "departure"): (100.0, 5.0), (2, FAR, "departure"): (20.0, 2.0),
    (10, FAR, "departure"): (100.0, 90.0), (64, FAR, "departure"): (190.0, 10.0),
}  # fmt: skip
STILL = dict.fromkeys(SWINGS, (100.0, 5.0))
MARKED = {(10, NEAR, "departure"): (80.0, 20.0), (10, NEAR, "arrival"): (80.0, 60.0)}
PATCHED = [(dcqcn_rtt - timely.BASE) * timely.C - timely.TRANSMISSIONS for dcqcn_rtt in map(timely.formula, timely.NUMBERS)]  # fmt: skip


def traffic(**slowdowns: float) -> Functions:
    """Return mean slowdown and 99th percentile of transports, whose names are those of the module."""
    known = {getattr(fat_tree, name): value for name, value in slowdowns.items()}
    return {
        "random_runs": lambda transport: runs(known[transport], 1e-3 * known[transport], 1.0),
        "long_runs": lambda transport: runs(known[transport], 1e-4 * known[transport], 1e-3 * known[transport], 1.0),
    }


def requests(excess: float) -> Functions:
    """Return the excess of IRN over the link's time in requests of the paper's size, for each number of senders."""
    count = len(fat_tree.PAPER_SENDERS)
    return {"excesses": always(runs(*[excess] * count)), "roce_of_paper_size": always([0.3] * count)}


def schemes(first: tuple[float, float], others: tuple[float, float]) -> Functions:
    """Return tail of slowdowns and packets at a switch under BFC, and under control between ends."""
    own, *rest = beside.SCHEMES
    return {"measured": by({own: runs(*first)} | dict.fromkeys(rest, runs(*others)))}


def shares_of_timely(begun_faster: float, patched: float) -> Functions:
    """Return shares of the first flow: begun at 7 and 3, with the patch, and begun at 3 and 7 as mirrored."""

    def shares(_: str, kind: str, part: float, __: float) -> list[float]:
        faster = begun_faster if kind == "TIMELY" else patched
        return runs(faster if part > 0.5 else 1.0 - faster if part < 0.5 else 0.5)

    return {"share_together": always(0.5), "shares": shares}


UNEQUAL = [[0.2 * (1.0 + each), 0.2 * (1.0 - each), 0.2, 0.4] for each in SCATTER]
"""Rates of a parking lot whose last sender has twice as much; shares in them differ from run to run."""
LOWER, HIGHER = schemes((2.0, 10.0), (20.0, 100.0)), schemes((20.0, 100.0), (2.0, 10.0))
CASES: dict[str, tuple[Any, Functions, Functions]] = {
    "B03": (beside, LOWER, HIGHER),
    "B04": (
        beside,
        {**LOWER, "largest_in_incast": always(runs(1.5))},
        {**HIGHER, "largest_in_incast": always(runs(15.0))},
    ),
    "L01": (
        rings,
        {"caught": lambda load: [[float(load > 1.0)] * 8] * 2},
        {"caught": lambda load: [[float(load < 1.0)] * 8] * 2},
    ),
    "Q01": (sharing, lots(0.2, 0.2, 0.2, 0.4), lots(0.25, 0.25, 0.35, 0.15)),
    "Q02": (
        sharing,
        {
            **lots(0.2, 0.2, 0.2, 0.4),
            **dict.fromkeys(("lot_rates_of_dcqcn", "settled_lot_rates_of_dcqcn"), always(runs(*[0.25] * 4))),
        },
        {
            **lots(0.2, 0.2, 0.2, 0.4),
            **dict.fromkeys(("lot_rates_of_dcqcn", "settled_lot_rates_of_dcqcn"), always(UNEQUAL)),
        },
    ),
    "Q03": (sharing, victims(0.25, 0.18, 0.11), victims(0.25, 0.25, 0.4)),
    "Q04": (sharing, hosts_with_dcqcn(0.5, 0.5), hosts_with_dcqcn(0.5, 0.2)),
    "Q05": (incast, queues((20.0, 5.0), (40.0, 20.0)), queues((40.0, 20.0), (20.0, 5.0))),
    "Q07": (incast, links(0.98), links(0.8)),
    "E01": (dcqcn, seen({**AT_REST, **SWINGS}), seen({**AT_REST, **SWINGS}, rates=0.5)),
    "E03": (dcqcn, seen(AT_REST), seen(SAME_QUEUE)),
    "E04": (dcqcn, seen(SWINGS), seen(STILL)),
    "E05": (timely, shares_of_timely(0.9, 0.5), shares_of_timely(0.1, 0.7)),
    "E06": (timely, {"patched_queues": always(runs(*PATCHED))}, {"patched_queues": always(runs(90.0, 80.0, 70.0))}),
    "E07": (dcqcn, seen(MARKED), seen({**MARKED, (10, NEAR, "arrival"): (80.0, 10.0)})),
    "H01": (
        telemetry,
        {"late_queues": by({"HPCC": runs(0.01), "DCQCN": runs(1.0)}), "settled_queues_of_dcqcn": always(runs(1.0))},
        {"late_queues": by({"HPCC": runs(2.0), "DCQCN": runs(1.0)}), "settled_queues_of_dcqcn": always(runs(1.0))},
    ),
    "H02": (
        telemetry,
        {"early": by({"HPCC": runs(3600.0, 400.0), "each ACK": runs(2000.0, 300.0), "each round trip": runs(3600.0, 700.0)})},
        {"early": by({"HPCC": runs(2000.0, 700.0), "each ACK": runs(3600.0, 300.0), "each round trip": runs(3600.0, 400.0)})},
    ),
    "H03": (
        telemetry,
        {"recoveries": by({"HPCC": runs(1.0, 0.93), "DCQCN": runs(0.3, 0.3)})},
        {"recoveries": by({"HPCC": runs(0.3, 0.3), "DCQCN": runs(1.0, 0.93)})},
    ),
    "H04": (
        telemetry,
        dict.fromkeys(("shares", "late_shares"), always(runs(1.0, 1.0, 1.0, 1.0))),
        dict.fromkeys(("shares", "late_shares"), always(runs(0.4, 0.8, 1.2, 1.6))),
    ),
    "H05": (telemetry, {"queues": by({0.5: runs(0.01), 3.0: runs(0.12)})}, {"queues": by({0.5: runs(0.12), 3.0: runs(0.01)})}),
    "I01": (fat_tree, traffic(IRN=1.7, ROCE=3.0), traffic(IRN=3.0, ROCE=1.7)),
    "I02": (fat_tree, traffic(IRN=1.7, IRN_PFC=2.5), traffic(IRN=2.5, IRN_PFC=1.7)),
    "I03": (fat_tree, traffic(LOSSY_ROCE=6.0, ROCE=3.0), traffic(LOSSY_ROCE=2.0, ROCE=3.0)),
    "I04": (
        fat_tree,
        traffic(IRN=1.7, UNBOUNDED=3.0, LOSSY_ROCE=6.0),
        traffic(IRN=6.0, UNBOUNDED=3.0, LOSSY_ROCE=1.7),
    ),
    "I05": (
        fat_tree,
        {"request_times": always(runs(3e-3, 3e-3, 3e-3)), **requests(0.02)},
        {
            "request_times": lambda transport: runs(*[4e-3 if transport == fat_tree.IRN else 3e-3] * 3),
            **requests(0.2),
        },
    ),
    "L02": (rings, on_ring(False, True), on_ring(True, True)),
    "L03": (rings, on_ring(False, True), on_ring(False, False)),
    "L04": (rings, on_ring(False, False), on_ring(False, True)),
    "L05": (rings, {"overloaded": always([0.0] * 8)}, {"overloaded": always([1.0] * 8)}),
    "G01": (operation, {"go_back_n": always(runs(0.8))}, {"go_back_n": always(runs(1e-5))}),
    "G02": (operation, {"victims": always(runs(0.01))}, {"victims": always(runs(0.9))}),
    "G03": (
        operation,
        {"victims": by({"none": runs(0.01), "all": runs(1.0), "hosts": runs(1.0)})},
        {"victims": always(runs(0.01))},
    ),
    "G04": (
        operation,
        {"pauses_of_slow_receiver": by({operation.SMALL_THRESHOLD: runs(400.0), operation.LARGE_THRESHOLD: runs(50.0)})},
        {"pauses_of_slow_receiver": always(runs(50.0))},
    ),
    "G05": (
        operation,
        {"incast_and_short": by({operation.LOW: runs(20.0, 4e-5), operation.HIGH: runs(2.0, 3e-5)})},
        {"incast_and_short": by({operation.LOW: runs(2.0, 3e-5), operation.HIGH: runs(20.0, 4e-5)})},
    ),
    "B01": (
        flows,
        dict.fromkeys(("active", "active_of_own_flows"), lambda load, _: runs(load / (1.0 - load))),
        dict.fromkeys(("active", "active_of_own_flows"), lambda load, speed: runs(load / (1.0 - load) * speed / 10.0)),
    ),
}  # fmt: skip
FORMULAS: dict[str, tuple[Any, Functions, Functions]] = {
    "Q06": (
        incast,
        {"thresholds_of_switch": always(incast.PRINTED)},
        {"thresholds_of_switch": always({"fixed": 46.9, "dynamic": 21.75})},
    ),
    "E02": (
        dcqcn,
        {"fixed_points": lambda *args: [dcqcn.approximation(*args)]},
        {"fixed_points": lambda *args: [2.0 * dcqcn.approximation(*args)]},
    ),
    "B02": (
        flows,
        {"bytes_within": lambda _, limit: limit / 1e9},
        {"bytes_within": lambda _, limit: 1e3 / limit},
    ),
}
"""Claims that the model alone judges."""


def judged(id: str, doctored: Functions, monkeypatch: pytest.MonkeyPatch) -> Finding:
    module = (CASES | FORMULAS)[id][0]
    with monkeypatch.context() as patch:
        for name, function in doctored.items():
            assert callable(getattr(module, name))
            patch.setattr(module, name, function)
        subject = subjects()[id]
        return subject.in_all_readings(subject.check.measure(), {})


def test_every_claim_on_fabrics_has_a_case() -> None:
    assert {*CASES, *FORMULAS} == set(FABRICS)


@pytest.mark.parametrize("id", CASES)
def test_numbers_like_the_papers_pass_and_doctored_runs_do_not(id, monkeypatch) -> None:
    _, genuine, doctored = CASES[id]
    assert judged(id, genuine, monkeypatch).by_default("level") is Verdict.HOLDS
    turned = judged(id, doctored, monkeypatch)
    assert turned.by_default("level") is Verdict.CONTRADICTED
    same_in_fluid = {"Q01", "Q03", "Q05", "Q07", "E01", "E03", "E04", "E05", "E06", "L02", "L03"}
    if id in same_in_fluid - {"E03"}:  # the model of E03 is its fixed point
        assert turned.by_default("model") is Verdict.CONTRADICTED


def test_the_half_of_q07_on_the_queue_is_listed_as_not_judged(monkeypatch) -> None:
    """And the printed 39 of 40 Gb/s is a reading: 0.98 of the link is above it, 0.96 above the registered limit only."""
    _, genuine, _ = CASES["Q07"]
    finding = judged("Q07", genuine, monkeypatch)
    assert [finding.in_reading(reading, "level") for reading in finding.readings] == [Verdict.HOLDS] * 2
    assert finding.readings[0].name == incast.AS_PRINTED
    finding = judged("Q07", links(0.96), monkeypatch)
    assert finding.by_default("level") is Verdict.HOLDS
    assert finding.in_reading(finding.readings[0], "level") is Verdict.CONTRADICTED
    _, queue = finding.parts
    assert queue.simulation is Verdict.UNDECIDABLE
    assert "no PFC" in queue.minor


def test_q03_weighs_every_choice_of_uplinks(monkeypatch) -> None:
    """Of two to the power of the senders; the median of the number of senders on the victim's leaf is two of four."""
    assert [sum(weights) for weights in sharing.WEIGHTS] == [16, 32, 64]
    for further, settings in zip(sharing.FURTHER, sharing.CHOICES, strict=True):
        for near, joined in settings:
            uplinks = sharing.chosen(further, near, joined)
            assert (uplinks[:4].count(0), uplinks[4:].count(0)) == (near, joined)
    near = [[[float(n) for n, _ in settings] for settings in sharing.CHOICES]]
    assert sharing.of_all_choices(near).tolist() == [[2.0, 2.0, 2.0]]
    even = [0.26, 0.12, 0.12]
    hashed = [[[rate] * len(s) for rate, s in zip((0.26, 0.2, 0.12), sharing.CHOICES, strict=True)]]
    doctored = {
        "victim_rates": always(runs(*even)),
        "victim_rates_of_fluid": always(even),
        "victim_rates_by_choice": always(hashed * 8),
        "victim_rates_of_fluid_by_choice": always(hashed[0]),
    }
    finding = judged("Q03", doctored, monkeypatch)
    assert finding.by_default("level") is Verdict.CONTRADICTED
    assert finding.in_reading(finding.readings[0], "level") is Verdict.HOLDS
    assert finding.in_reading(finding.readings[0], "model") is Verdict.HOLDS


def test_e05_tells_the_flow_that_begins_faster_from_either_flow_that_has_more(monkeypatch) -> None:
    """Late, the slower flow has more here: as far from one half as before, and yet against the statement."""

    def shares(level: str, kind: str, part: float, after: float) -> list[float]:
        if kind != "TIMELY":
            return runs(0.5)
        if part == 0.5:
            return [0.1, 0.9] * 4 if after == timely.LATEST else runs(0.5)
        return runs(0.9 if (part > 0.5) == (after != timely.LATEST) else 0.1)

    finding = judged("E05", {"shares": shares, "share_together": always(0.5)}, monkeypatch)
    for source in ("model", "level"):
        assert finding.by_default(source) is Verdict.HOLDS
        assert finding.in_reading(finding.readings[0], source) is Verdict.CONTRADICTED


def test_e04_has_one_statistic_for_its_three_statements_and_the_other_one_as_a_reading(monkeypatch) -> None:
    """Sixty-four flows with a long queue: their amplitude is the largest, and not in parts of the queue."""
    large = {**SWINGS, (64, FAR, "departure"): (1900.0, 100.0)}
    finding = judged("E04", seen(large), monkeypatch)
    (amplitude,) = (each for each in finding.readings if each.name == dcqcn.STANDARD_DEVIATION)
    assert finding.by_default("level") is Verdict.HOLDS
    assert finding.in_reading(amplitude, "level") is Verdict.CONTRADICTED
    assert finding.verdict("model") is Verdict.DEPENDS


def test_q04_may_rise_by_default_and_not_in_the_reading_of_no_change(monkeypatch) -> None:
    finding = judged("Q04", hosts_with_dcqcn(0.5, 0.7), monkeypatch)
    verdicts = {each.name: finding.in_reading(each, "level") for each in finding.readings}
    assert finding.by_default("level") is Verdict.HOLDS
    assert verdicts == {sharing.RISE: Verdict.CONTRADICTED, "uplinks by a hash": Verdict.HOLDS}


def test_runs_without_a_deadlock_decide_from_seven_seeds_on(monkeypatch) -> None:
    assert judged("L02", on_ring(False, True, count=6), monkeypatch).by_default("level") is Verdict.INCONCLUSIVE
    assert judged("L02", on_ring(False, True, count=7), monkeypatch).by_default("level") is Verdict.HOLDS


@pytest.mark.parametrize("id", FORMULAS)
def test_formulas_that_give_the_papers_numbers_pass_and_others_do_not(id, monkeypatch) -> None:
    _, genuine, doctored = FORMULAS[id]
    assert judged(id, genuine, monkeypatch).model is Verdict.HOLDS
    assert judged(id, doctored, monkeypatch).model is Verdict.CONTRADICTED


@for_each(FABRICS)
def test_every_claim_has_a_source_that_says_how_it_is_known(id: str) -> None:
    said = [row for (claim, _), row in expectations().items() if claim == id]
    assert said
    assert all(len(row["how known"].split()) >= 3 for row in said)


def test_closed_forms_of_operation() -> None:
    """A message of one packet needs 1 / q packets; of two, 1 / q + 1 / q^2 are sent on average."""
    p, q = 0.25, 0.75
    assert operation.go_back_0(p, 1) == pytest.approx(q)
    assert operation.go_back_0(p, 2) == pytest.approx(2.0 / (1.0 / q + 1.0 / q**2))
    random = np.random.default_rng(1)
    sent = 0
    for _ in range(4000):
        done = 0
        while done < 3:
            sent += 1
            done = done + 1 if random.random() > p else 0
    assert operation.go_back_0(p, 3) == pytest.approx(3 * 4000 / sent, rel=0.03)


def test_the_quantile_is_that_of_the_geometric_law() -> None:
    numbers = np.arange(200)
    law = np.cumsum(0.1 * 0.9**numbers)
    assert flows.geometric_quantile(0.9, 0.99) == numbers[law >= 0.99][0]


def test_bytes_of_flows_up_to_a_limit() -> None:
    """Sizes uniform from 0 to 100: half of the sizes have a quarter of the bytes."""
    sizes = flows.FlowSizes("uniform", (0, 100), (0.0, 1.0))
    within = functools.partial(flows.bytes_within, sizes)
    assert within(50.0) == pytest.approx(0.25)
    assert within(1e9) == 1.0


# Runs of fabrics.


def test_rates_and_queues_of_a_run_are_those_after_its_beginning() -> None:
    """Two senders at line rate share the link; the queue grows by the rate of the second."""
    scenario = shared.star(2, FixedRate(), FIFO(), 4e-4)
    run = shared.packets(scenario, 1, 1e-4, 1e-5, recovery="none")
    assert run.rates.sum() == pytest.approx(shared.line(40), rel=0.02)
    queue = run.queue("switch->receiver")
    assert len(queue) == len(run.records.time) - run.first
    assert np.diff(queue).mean() == pytest.approx(shared.line(40) * 1e-5, rel=0.05)
    assert run.queue("h1->switch").max() <= 1.0


def test_starts_are_drawn_by_the_seed() -> None:
    one, other = shared.starts(4, 1), shared.starts(4, 2)
    assert one == shared.starts(4, 1) != other
    assert 0.0 <= min(one) <= max(one) <= shared.SPREAD


def test_statistics_of_runs() -> None:
    assert shared.gain([2.0, 4.0], [1.0, 2.0]).value == 1.0
    (up, down) = shared.steps([[1.0, 3.0, 2.0], [2.0, 4.0, 3.0]])
    assert (up.value, down.value) == (2.0, -1.0)
    (exact,) = shared.deviations([1.1], 1.0)
    assert exact.error == 0.0
    assert [e.value for e in shared.deviations([[1.0, 2.0], [1.0, 2.0]], 1.0)] == [0.0, 1.0]


def test_decisions_are_made_at_the_threshold() -> None:
    at = {"least": 0.1}
    assert shared.over(Estimate(0.3, 0.0))(at)[0].value == pytest.approx(0.2)
    assert shared.over(Estimate(0.3, 0.0), sign=-1.0)(at)[0].value == pytest.approx(0.4)
    assert shared.under(Estimate(0.3, 0.0))(at)[0].value == pytest.approx(-0.2)


def test_pfc_has_room_between_its_thresholds() -> None:
    assert (shared.pfc().xoff, shared.pfc().xon) == (300.0, 280.0)
    assert shared.pfc(20.0).xon == 10.0
    assert shared.pfc(20.0, xon=5.0).xon == 5.0


def test_the_packet_level_is_judged_in_other_readings_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("validation.checks._SUBJECTS", {})

    def measure() -> Effects:
        low, high = (Statement(level=shared.over(Estimate(x, 0.0))) for x in (0.05, 0.3))
        return Effects({"it": low}, {}, ("x", "y"), readings={"other": {"it": high}})

    measure.__annotations__["return"] = "Effects"
    check = shared.on_fabrics("Q01", least=0.1)(measure)
    found = check.in_all_readings(check(), {})
    assert found.parts[0].level is Verdict.CONTRADICTED
    assert found.readings[0].parts[0].level is Verdict.HOLDS
    assert found.level is Verdict.DEPENDS
    assert check.in_all_readings(check(), {"least": 0.4}).level is Verdict.CONTRADICTED


# Switches in hardware.

# The queue of a real switch against the saw tooth.


def test_a_buffer_of_a_product_is_what_reno_needs() -> None:
    """The rule of thumb: B = C keeps the link busy when the window is halved."""
    product = 10e9 * 1e-3 / 72000
    assert trough(product, 0.5) == pytest.approx(0.0, abs=1e-9)
    assert trough(2 * product, 0.5) == pytest.approx(product / 2)


def test_depths_grow_with_their_percentile_and_stay_about_the_buffer() -> None:
    for row in rows("spang2021_queue_depths.csv"):
        depths = [float(row[f"depth_p{n}"]) for n in ("01", "05", "10", "50", "95", "99")]
        assert depths == sorted(depths)
        assert depths[-1] <= float(row["buffer"]) + 12  # the switch drops on departure (README)


@pytest.mark.slow
def test_both_rules_and_all_numbers_of_flows_are_there() -> None:
    assert {row["algorithm"] for row in rows("spang2021_queue_depths.csv")} == {"reno", "cubic"}
    assert len(queue_depths().values["raised"]) > 10  # noqa: PD011


def test_a_difference_counts_from_the_margin_and_the_fluctuation_together() -> None:
    found = [Trough(100.0, 60.0, 80.0)]
    assert judged_troughs(found, margin=0.1, fluctuation=5.0) is Verdict.CONTRADICTED
    assert judged_troughs(found, margin=0.1, fluctuation=15.0) is Verdict.INCONCLUSIVE
    assert judged_troughs(found, margin=0.4, fluctuation=15.0) is Verdict.HOLDS


# The queue of the switch at both levels.


@pytest.fixture(scope="module")
def found() -> list[levels.Queue]:
    return queue_depths().values["queues"]  # noqa: PD011


def test_the_settings_are_those_of_the_rule(found) -> None:
    sizes = sorted({float(row["buffer"]) for row in rows("spang2021_queue_depths.csv")})
    for queue in found:
        part = min(levels.PARTS, key=lambda part: abs(queue.buffer - part * levels.PRODUCT))
        nearest = min(abs(size - part * levels.PRODUCT) for size in sizes)
        assert abs(queue.buffer - part * levels.PRODUCT) == nearest
    settings = {(queue.rule, queue.flows, queue.buffer) for queue in found}
    assert len(settings) == len(found) == len(levels.RULES) * len(levels.FLOWS) * len(levels.PARTS)


def test_percentiles_grow_and_stay_within_the_buffer(found) -> None:
    for queue in found:
        for level in (queue.fluid, queue.packets):
            depths = [level[p].value for p in levels.PERCENTILES]
            assert depths == sorted(depths)
            assert 0.0 <= depths[0] <= depths[-1] <= round(queue.buffer) + 0.01  # of rounding


@pytest.mark.parametrize("level", levels.LEVELS)
def test_one_flow_keeps_the_trough_of_the_saw_tooth(found, level: str) -> None:
    """The window is cut when the loss is noticed, a round trip and thus at most a packet or two later."""
    for queue in found:
        if queue.flows == 1:
            low = getattr(queue, level)[1].value
            assert low == pytest.approx(trough(queue.buffer, CUTS[queue.rule]), abs=2.0)


def test_a_longer_delay_leaves_less_in_the_queue(found) -> None:
    delayed = {(q.rule, q.buffer): q for q in queue_depths().values["delayed"]}  # noqa: PD011
    for (rule, buffer), queue in delayed.items():
        (same,) = (q for q in found if (q.rule, q.flows, q.buffer) == (rule, 1, buffer))
        assert queue.switch == same.switch
        if trough(buffer, CUTS[rule]) > 0.0:
            assert queue.packets[1].value < same.packets[1].value


def test_differences_are_over_the_buffer_and_signed() -> None:
    deep = {p: levels.Estimate(10.0, 0.0) for p in levels.PERCENTILES}
    queue = levels.Queue("cubic", 64, 100.0, dict.fromkeys(levels.PERCENTILES, 30.0), deep, deep)
    assert set(queue.apart("fluid").values()) == {-0.2}


def test_another_table_gives_other_settings() -> None:
    """Rows are looked up by rule, number and buffer, and a missing one is no row of another setting."""
    table = pd.DataFrame(rows("spang2021_queue_depths.csv"))
    table = table.astype({name: float for name in table.columns if name != "algorithm"})
    with pytest.raises(ValueError, match="unpack"):
        levels.queues(table[table["flows"] != 1])
