"""The seeds of claims at hopflow's packet level (`validation.networks.further_seeds`), and how many there are.

`PLAN` was written before any of these runs: its numbers follow from the means and deviations of the first seeds.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from validation import evidence
from validation.claims.fabric_runs import SETTLED, line
from validation.claims.goyal2022.flows import MANY_FLOWS, MEAN
from validation.claims.kaneko2007.beside_reno import (
    FAST_LINKS,
    FAST_LINKS_NS2,
    INCLUSIVE_SEEDS,
    MODEL_SEEDS,
    SMALL_BDP,
    SMALLER_BDP,
    VARIANTS,
    WINDOWS,
)
from validation.claims.kaneko2007.level import SEEDS as LEVEL_SEEDS
from validation.claims.kaneko2007.one_rule import (
    ADDED,
    ALONE,
    LARGEST_DELAY,
    LONG_RTTS,
    RTT_SEEDS,
    RTTS,
)
from validation.claims.kaneko2007.rule_pairs import CASES as PAIR_CASES
from validation.claims.kaneko2007.rule_pairs import LONGER, PAIR_SEEDS
from validation.claims.kaneko2007.runs import FRIENDLY, INCLUSIVE, RULES, SEEDS, Setting, settings
from validation.claims.kaneko2007.under_loss import (
    FEW_SEEDS,
    LARGE_LOSS_RATES,
    LOSSES,
    SMALL_LOSS_RATES,
)
from validation.claims.malhotra2005 import level as tandem
from validation.claims.malhotra2005.level import Bridges
from validation.claims.malhotra2005.low_threshold import RUN_LOWS
from validation.claims.malhotra2005.signalling import HIGH_END, LATE, LOW_END
from validation.claims.malhotra2005.signalling import LEVEL_SEEDS as MESSAGE_SEEDS
from validation.claims.malhotra2005.threshold import OWN_HIGHS
from validation.claims.malhotra2005.traffic import BELOW, LONG_RTT, MIDDLE_RTT, SHORT_RTT
from validation.claims.mittal2018.fat_tree import PAPER_END, PAPER_SENDERS
from validation.claims.yang2001.load import LONGEST
from validation.claims.zheng2002.level import SENDERS, Dumbbell, pair
from validation.claims.zheng2002.more_flows import ACCESS, AT_DELAYS, OWN
from validation.claims.zheng2002.one_kind import NUMBERS
from validation.claims.zheng2002.queues import PHASE, SMALL_QUEUE, SMALL_QUEUE_SEEDS
from validation.claims.zheng2002.red import FAST, SLOW
from validation.claims.zhu2015.incast import LATE as LATE_WINDOW
from validation.claims.zhu2016.dcqcn import FAIRNESS_TIMES
from validation.generate.cases import Case, Run
from validation.generate.packets.seed_tables import RUNS, calls, read
from validation.generate.programs import Module
from validation.networks.further_seeds import CASE, LATER, named, plain

NEEDED: Mapping[str, int] = {
    "Q02": 205, "Q04": 43, "Q05": 26, "E01": 48, "E03": 42, "E04": 13, "E07": 18, "H04": 5, "I01": 720,
    "I02": 66, "I03": 10, "I04": 13, "I05": 2150, "G05": 162, "B01": 17, "B03": 11, "B04": 6,
}  # fmt: skip
"""Seeds that decide all open statements of a claim with a probability of 90 %, if means and deviations are those seen.

The first statement of E03 would take 492. G05 has 162, since the 34 that its first four asked for decided nothing. I01 and I05
were open over 17 and 26 and ask for 356 and 2150; I01 has twice as many, since the difference that it asks about is smaller than its error.
"""
PAPERS = (
    "Q03", "K02", "K03", "K05", "K06", "K07", "K08", "K09", "K12", "M04", "M05", "M06", "M10", "M11", "M12", "M14", "M15",
    "M17", "Y02", "Z04", "Z05", "Z11", "Z14", "Z15", "Z18",
)  # fmt: skip
"""Other claims whose seeds are bundled."""
MIN_SEEDS, MAX_SEEDS_OF_A_PROCESS = 8, 300
"""Seeds of a claim on fabrics, at least; seeds of a run of the program, at most, unless a setting has more."""
SHORT_DELAY, LONG_DELAY = 4e-6, 85e-6
"""Round-trip times of zhu2016, s."""
IRN, ROCE, IRN_PFC = (False, True, True), (True, False, False), (True, True, True)
LOSSY_ROCE, UNBOUNDED = (False, False, False), (False, True, False)
"""Transports of mittal2018: pauses, selective repair, a bound on packets in flight."""
PLAN: Sequence[tuple[tuple[str, ...], str, Sequence[tuple[Any, ...]]]] = (
    (("Q02",), "zhu2015.sharing.lot_rates_of_dcqcn", [()]),
    (("Q03",), "zhu2015.sharing.victim_rates_by_choice", [()]),
    (("Q04",), "zhu2015.sharing.victim_rates", [()]),
    (("Q04",), "zhu2015.sharing.victim_rates_of_dcqcn", [()]),
    (("Q05",), "zhu2015.incast.queues", [(n, g) for n in (2, 16) for g in (1 / 256, 1 / 16)]),
    (
        ("E01", "E03", "E04", "E07"),
        "zhu2016.dcqcn.seen",
        [(n, SHORT_DELAY, "departure") for n in (2, 10)],
    ),
    (("E03",), "zhu2016.dcqcn.seen", [(n, SHORT_DELAY, "departure") for n in (4, 8)]),
    (("E04",), "zhu2016.dcqcn.seen", [(n, LONG_DELAY, "departure") for n in (2, 10, 64)]),
    (("E07",), "zhu2016.dcqcn.seen", [(10, SHORT_DELAY, "arrival")]),
    (("H04",), "li2019.telemetry.shares", [()]),
    (("G05",), "guo2016.operation.incast_and_short", [(20.0,), (80.0,)]),
    (("I01", "I02", "I04"), "mittal2018.fat_tree.random_runs", [(IRN,)]),
    (("I02",), "mittal2018.fat_tree.random_runs", [(IRN_PFC,)]),
    (("I01", "I03"), "mittal2018.fat_tree.random_runs", [(ROCE,)]),
    (("I03", "I04"), "mittal2018.fat_tree.random_runs", [(LOSSY_ROCE,)]),
    (("I04",), "mittal2018.fat_tree.random_runs", [(UNBOUNDED,)]),
    (("I05",), "mittal2018.fat_tree.request_times", [(IRN,), (ROCE,)]),
    (("B03", "B04"), "goyal2022.beside.measured", [("BFC",), ("DCQCN and PFC",), ("HPCC",)]),
    (("B01",), "goyal2022.flows.active", [(0.5, 10.0), (0.7, 10.0), (0.7, 100.0)]),
)
"""Claims, the function that their runs are of, and its arguments."""


SENT = (SHORT_DELAY, "departure")
LATER_CLAIMS = (
    "Q02",
    "Q04",
    "Q05",
    "Q07",
    "E01",
    "E03",
    "E04",
    "E07",
    "H04",
    "I01",
    "I02",
    "I03",
    "I04",
    "I05",
    "B01",
    "B04",
)
LATER_PLAN: Mapping[str, Sequence[tuple[Any, ...]]] = {
    "zhu2015.sharing.settled_lot_rates_of_dcqcn": [()],
    "zhu2015.sharing.settled_victim_rates": [()],
    "zhu2015.sharing.settled_victim_rates_by_hash": [()],
    "zhu2015.incast.late_queues": [(n, g) for n in (2, 16) for g in (1 / 256, 1 / 16)],
    "zhu2015.incast.settled": [(n, g) for n in (2, 16) for g in (1 / 256, 1 / 16)] + [(8, 1 / 256)],
    "zhu2016.dcqcn.long_rates": [(2,), (10,)],
    "zhu2016.dcqcn.settled": [
        *((n, *SENT, extended) for n in (2, 4, 8, 10) for extended in (False, True)),
        *((n, LONG_DELAY, "departure", extended) for n in (2, 10, 64) for extended in (False, True)),
        (10, SHORT_DELAY, "arrival", False),
    ],
    "li2019.telemetry.late_shares": [()],
    "mittal2018.fat_tree.long_runs": [(IRN,), (ROCE,), (IRN_PFC,), (LOSSY_ROCE,), (UNBOUNDED,)],
    "mittal2018.fat_tree.excesses": [()],
    "goyal2022.flows.active_of_own_flows": [(0.5, 10.0), (0.5, 100.0)],
    "goyal2022.beside.largest_in_incast": [()],
}
"""The functions of `LATER` and their arguments."""

Asked = tuple[str, tuple[Any, ...], int]
"""A function, its arguments, and how many seeds."""


def of_kaneko2007() -> Iterator[Asked]:
    """Yield the settings of kaneko2007: those of a check, or as many seeds as decide its open statements.

    Readings with another version of a rule have the seeds of a check.
    """
    both = "(first == 'areno' and second == 'reno') or (first == 'reno' and second == 'areno')"
    small = f"loss_rate in {(*SMALL_LOSS_RATES, *LARGE_LOSS_RATES)}"
    everything, few = tuple(RULES), tuple(FRIENDLY)
    pairs = PAIR_CASES["ns-3"]
    of_reading = [
        (pairs[0], "", INCLUSIVE, PAIR_SEEDS),  # K03
        (pairs[1], "", INCLUSIVE, PAIR_SEEDS),
        (RTTS["ns-2"], f"rule == 'bic' and long_rtt in {LONG_RTTS}", "bic of 2.6.15", RTT_SEEDS),  # K05
        (SMALL_BDP["ns-3"][0], "rule == 'areno'", INCLUSIVE, INCLUSIVE_SEEDS),  # K06
        (SMALL_BDP["ns-3"][0], "rule == 'bic'", "bic like Reno", LEVEL_SEEDS),
        (SMALL_BDP["ns-3"][0], "rule == 'compound'", "compound like Reno", LEVEL_SEEDS),
        (WINDOWS["ns-3"], "rule == 'areno'", INCLUSIVE, INCLUSIVE_SEEDS),  # K12
    ]
    for case, query, rules, longer, seeds in (
        (LOSSES, f"rule in ('fusion', 'reno') and {small}", few, 1.0, 75),  # K02
        (LOSSES, f"rule in ('fusion', 'reno') and not {small}", few, 1.0, 3),
        (pairs[0], "", everything, 1.0, 6),  # K03
        (pairs[1], "", everything, 1.0, 6),
        (pairs[0], both, few, LONGER, 2),
        (RTTS["ns-3"], f"long_rtt in {LONG_RTTS}", everything, 1.0, 20),  # K05
        (RTTS["ns-2"], f"long_rtt in {LONG_RTTS} and rule in ('highspeed', 'bic')", everything, 1.0, 20),
        (SMALL_BDP["ns-3"][0], f"rule in {VARIANTS}", everything, 1.0, 3),  # K06
        (FAST_LINKS[0], "rule in ('areno', 'compound')", few, 1.0, 35),  # K07
        (FAST_LINKS[0], "rule == 'fusion'", few, 1.0, 300),  # 35 left its second statement open and ask for 112
        (FAST_LINKS_NS2, "rule == 'reno' and link_rate < 1e9", few, 1.0, 300),
        (ADDED[0], f"rule in ('fusion', 'reno') and added_rtt in {(0.0, LARGEST_DELAY)}", few, 1.0, 8),  # K08
        (ALONE[0], "", few, 1.0, 4),  # K09
        (WINDOWS["ns-3"], "rule == 'areno'", few, 1.0, 10),  # K12
        (WINDOWS["ns-3"], "rule == 'reno'", few, 1.0, 3),
        (WINDOWS["ns-3"], "rule in ('fusion', 'compound')", few, 1.0, 3),  # 639 and 539 would decide
    ):  # fmt: skip
        for _, setting in settings(case, query, rules, longer=longer):
            yield "kaneko2007.level.two_flows", setting, seeds
    for case, query, version, seeds in of_reading:
        for _, setting in settings(case, query, everything, version=version):
            if version in setting[0]:
                yield "kaneko2007.level.two_flows", setting, seeds


def of_kaneko2007_model() -> Iterator[Asked]:
    """Yield the settings of the window model of kaneko2007, those of its checks."""
    everything, few = tuple(RULES), tuple(FRIENDLY)
    small = f"rule == 'fusion' and loss_rate in {SMALL_LOSS_RATES}"
    seeds_of = dict[Setting, int]()
    for case, query, rules, seeds, overshoot, version in (
        (LOSSES, "", few, SEEDS, False, ""),  # K02
        (LOSSES, small, few, FEW_SEEDS, False, ""),
        (LOSSES, small, few, SEEDS, True, ""),
        (PAIR_CASES["ns-3"][0], "", few, SEEDS, False, ""),  # K03
        (PAIR_CASES["ns-3"][0], "", few, SEEDS, False, INCLUSIVE),
        (RTTS["ns-3"], f"long_rtt in {LONG_RTTS}", everything, RTT_SEEDS, False, ""),  # K05
        (RTTS["ns-2"], f"long_rtt in {LONG_RTTS} and rule in ('highspeed', 'bic')", everything, RTT_SEEDS, False, ""),
        (RTTS["ns-3"], f"rule in ('reno', 'fusion') and long_rtt in {LONG_RTTS}", few, SEEDS, True, ""),
        (RTTS["ns-2"], f"rule == 'bic' and long_rtt in {LONG_RTTS}", everything, RTT_SEEDS, False, "bic of 2.6.15"),
        (SMALL_BDP["ns-3"][0], "", few, SEEDS, False, ""),  # K06
        (SMALL_BDP["ns-3"][0], "rule == 'areno'", few, SEEDS, False, INCLUSIVE),
        (SMALLER_BDP["ns-3"], "", few, SEEDS, False, ""),
        (FAST_LINKS[0], "", few, SEEDS, False, ""),  # K07
        (FAST_LINKS[1], "", few, SEEDS, False, ""),
        (FAST_LINKS[0], "rule == 'fusion'", few, MODEL_SEEDS, False, ""),
        (FAST_LINKS_NS2, "rule == 'reno' and link_rate < 1e9", few, MODEL_SEEDS, False, ""),
        (ADDED[0], "", few, SEEDS, False, ""),  # K08
        (ALONE[0], "", few, SEEDS, False, ""),  # K09
        (WINDOWS["ns-3"], "", few, SEEDS, False, ""),  # K12
        (WINDOWS["ns-3"], "", few, SEEDS, True, ""),
        (WINDOWS["ns-3"], "rule == 'areno'", few, SEEDS, False, INCLUSIVE),
    ):  # fmt: skip
        for _, setting in settings(case, query, rules, overshoot=overshoot, version=version):
            seeds_of[setting] = max(seeds, seeds_of.get(setting, 0))
    yield from (("kaneko2007.runs.two_in_model", *each) for each in seeds_of.items())


def of_malhotra2005() -> Iterator[Asked]:
    """Yield the settings of malhotra2005: as many seeds as decide M05, M11, M12 and M14, and those of a check."""
    endless, files = "malhotra2005.level.endless_run", "malhotra2005.level.files_run"
    for rtt, pause in itertools.product(tandem.RTTS, (True, False)):
        yield endless, (rtt, pause, "reno"), 12
    for pause in (True, False):
        yield endless, (tandem.RTTS[0], pause, "two"), 12
    yield endless, (tandem.RTTS[0], False, "ns2"), 12
    bridges = [Bridges(rtt, low=low) for rtt in tandem.RTTS[1:] for low in RUN_LOWS]
    bridges += [Bridges(rtt, high, high) for rtt in tandem.RTTS[1:] for high in OWN_HIGHS]
    bridges += [Bridges(rtt) for rtt in tandem.RTTS] + [Bridges(rtt).off for rtt in tandem.RTTS]
    for each in dict.fromkeys(bridges):  # M05 and M11 asked for 20, which left them open and ask for 43
        seeds = 43 if each.high == tandem.THRESHOLD else 20
        yield files, (plain(each), False), seeds
    for rtt, load in itertools.product(tandem.RTTS, tandem.LOADS):
        if load != tandem.LINK_A:
            for each in (Bridges(rtt, link_a=load), Bridges(rtt, link_a=load).off):
                yield files, (plain(each), False), 8
    for rtt in (LONG_RTT, SHORT_RTT):  # M10
        for each in (Bridges(rtt, link_a=35.0), Bridges(rtt, link_a=35.0).off):
            yield files, (plain(each), True), tandem.FILE_SEEDS
    yield files, (plain(Bridges(MIDDLE_RTT, BELOW, BELOW)), False), tandem.FILE_SEEDS  # M11
    for delay, high in itertools.product((tandem.MESSAGE, LATE), (LOW_END, HIGH_END)):  # M17
        yield files, (plain(Bridges(MIDDLE_RTT, high, high, message=delay)), False), MESSAGE_SEEDS


def of_others() -> Iterator[Asked]:
    """Yield the settings of zheng2002 and yang2001: as many seeds as decide Z05, Z11, Z14, Z15 and Y02, and those of a check of Z18."""
    for number, link in itertools.product(OWN, (SLOW, FAST)):
        flows = pair("TCP(3/7,1/4)", "TCP(1,1/2)", number, link)
        yield "zheng2002.level.run_of", plain((flows,)), 7
    for kinds in AT_DELAYS[:2]:
        flows = Dumbbell(tuple(kind for kind in kinds for _ in ACCESS), ACCESS * 2)
        yield "zheng2002.level.run_of", plain((flows,)), 7
    for (one, seeds), queue in itertools.product(Z15_SEEDS.items(), ("RED", "DropTail")):
        flows = pair(one, "TCP(1,1/2)", 8, SLOW, queue)._replace(jitter=PHASE)
        yield "zheng2002.level.run_of", plain((flows,)), seeds
    for one, queue in itertools.product(Z15_SEEDS, ("RED", "DropTail")):  # Z18
        flows = pair(one, "TCP(1,1/2)", 8, SLOW._replace(**SMALL_QUEUE), queue)._replace(jitter=PHASE)
        yield "zheng2002.level.run_of", plain((flows,)), SMALL_QUEUE_SEEDS
    for kind, number in itertools.product(SENDERS, NUMBERS):
        yield "zheng2002.level.run_of", plain((Dumbbell((kind,) * number),)), 4
    yield "yang2001.load.shares_of", (times_of_y02(),), Y02_SEEDS


Z15_SEEDS = {"TCP(1/5,1/8)": 54, "TCP(3/7,1/4)": 840}
"""By the rule beside TCP: 14 left Z15 open, then 54; flows beside TCP(3/7,1/4) are less smooth, and 404 would show it at the difference seen."""
Y02_SEEDS = 1000
"""Seven decide the first statement of Y02 and leave the second one open; they ask for 55, and three had asked for 3900."""


def times_of_y02() -> tuple[int, ...]:
    """Return the times at which Y02 compares shares, s."""
    times = sorted(set(evidence.table("yang2001/bandwidth-shares")["time"].tolist()))
    return tuple(int(time) for time in times if time <= LONGEST)


def later() -> Iterator[Asked]:
    """Yield the settings of corrected statements on fabrics, each with the seeds of a check."""
    for function, chosen in LATER_PLAN.items():
        yield from ((function, arguments, len(named(function).seeds)) for arguments in chosen)


def asked() -> Iterator[Asked]:
    """Yield all settings."""
    for claims, function, chosen in PLAN:
        seeds = max(max(NEEDED.get(claim, 0), MIN_SEEDS) for claim in claims)
        yield from ((function, arguments, seeds) for arguments in chosen)
    yield from of_malhotra2005()
    yield from of_others()
    yield from of_kaneko2007()
    yield from of_kaneko2007_model()


def runs(settings_of: Iterable[Asked]) -> Iterator[Run]:
    """Yield runs of at most `MAX_SEEDS_OF_A_PROCESS` seeds, one function each: a process that has compiled it measures several settings."""
    settings: list[list[object]] = []
    before, total = "", 0
    for function, arguments, seeds in settings_of:
        if settings and (function != before or total + seeds > MAX_SEEDS_OF_A_PROCESS):
            yield {"function": before, "settings": settings}
            settings, total = [], 0
        first = named(function).seeds[0]
        settings.append([first, first + seeds - 1, repr(arguments)])
        before, total = function, total + seeds
    yield {"function": before, "settings": settings}


SECONDS: Mapping[str, Callable[..., float]] = {
    "zhu2015.sharing.lot_rates_of_dcqcn": lambda: 0.05,
    "zhu2015.sharing.victim_rates_by_choice": lambda: 30 * 3e-3,
    "zhu2015.sharing.victim_rates": lambda: 3 * 3e-3,
    "zhu2015.sharing.victim_rates_of_dcqcn": lambda: 2 * 0.04,
    "zhu2015.incast.queues": lambda *_: 0.02,
    "zhu2016.dcqcn.seen": lambda *_: 0.04,
    "li2019.telemetry.shares": lambda: 7.6e-3,
    "guo2016.operation.incast_and_short": lambda _: 2e-3,
    "mittal2018.fat_tree.random_runs": lambda _: 0.016,
    "mittal2018.fat_tree.request_times": lambda _: 3 * 0.016,
    "goyal2022.beside.measured": lambda _: 4e-3,
    "goyal2022.flows.active": lambda load, speed: 2 * 800 * 20 * 8000 / (load * speed * 1e9),
    "malhotra2005.level.endless_run": lambda rtt, *_: 200 + 10 * rtt + max(2000, 300 * rtt),
    "malhotra2005.level.files_run": lambda bridges, _: (
        200 + 10 * bridges[0] + (1000 if bridges[0] < tandem.LONG_RTT else 4000)
    ),
    "zheng2002.level.run_of": lambda _: 90.0,
    "yang2001.load.shares_of": max,
    "kaneko2007.level.two_flows": lambda *setting: setting[3][0],
    "kaneko2007.runs.two_in_model": lambda *setting: setting[3][0],
    "zhu2015.sharing.settled_lot_rates_of_dcqcn": lambda: SETTLED[0],
    "zhu2015.sharing.settled_victim_rates": lambda: 2 * SETTLED[0],
    "zhu2015.sharing.settled_victim_rates_by_hash": lambda: 2 * (SETTLED[0] + 3e-3),
    "zhu2015.incast.late_queues": lambda *_: LATE_WINDOW[0],
    "zhu2015.incast.settled": lambda *_: SETTLED[0],
    "zhu2016.dcqcn.long_rates": lambda _: FAIRNESS_TIMES[0],
    "zhu2016.dcqcn.settled": lambda *_: SETTLED[0],
    "li2019.telemetry.late_shares": lambda: 7.06e-2,
    "mittal2018.fat_tree.long_runs": lambda _: 0.016,
    "mittal2018.fat_tree.excesses": lambda: len(PAPER_SENDERS) * PAPER_END,
    "goyal2022.flows.active_of_own_flows": lambda load, speed: MANY_FLOWS * MEAN / (load * line(speed)),
    "goyal2022.beside.largest_in_incast": lambda: 4e-3,
}
"""Simulated time of a seed of each function by its arguments, s; that of goyal2022's Poisson arrivals in the mean."""


def simulated_seconds(run: Run) -> float:
    """Return the simulated time of all seeds of all settings, s."""
    of_seed = SECONDS[run["function"]]
    return sum(
        (last - first + 1) * float(of_seed(*ast.literal_eval(arguments))) for first, last, arguments in run["settings"]
    )


CASES = (
    Case(
        name=CASE,
        title="claims at hopflow's packet level: what functions of their modules measure, over seeds",
        claims=(*NEEDED, *PAPERS),
        program=Module("validation.networks.further_seeds"),
        parameters={"fewest seeds of a claim on fabrics": (MIN_SEEDS, "1")},
        tables={"runs": RUNS},
        runs=list(runs(asked())),
        calls=calls,
        read=read,
        simulated_seconds=simulated_seconds,
        notes=(
            (
                "The number of seeds was fixed before they were run: as many as decide the open statements with a probability of 90 % "
                "at the means and deviations of the seeds that were run until then, unless that is above 300; else those of a check."
            ),
            "The first seed of each function is run again when a claim is checked, and compared.",
            "kaneko2007.runs.two_in_model has the runs of the window model, seeds from 0 on; they decide about no simulator.",
        ),
    ),
    Case(
        name=LATER,
        title="corrected statements on fabrics at hopflow's packet level: later windows and the papers' sizes, over seeds",
        claims=LATER_CLAIMS,
        program=Module("validation.networks.further_seeds"),
        parameters={
            "fewest seeds of a setting": (min(seeds for *_, seeds in later()), "1"),
            "most seeds of a setting": (max(seeds for *_, seeds in later()), "1"),
        },
        tables={"runs": RUNS},
        runs=list(runs(later())),
        calls=calls,
        read=read,
        simulated_seconds=simulated_seconds,
        notes=(
            "The seeds are those of a check, whose first one is run again and compared.",
            "What was expected of the statements was committed before their first run (`published/fabric_expectations.csv`).",
        ),
    ),
)
