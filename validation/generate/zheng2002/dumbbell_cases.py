"""The experiments of zheng2002, Sect. 3, as cases of ns-2's dumbbell."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from validation.generate.cases import Case, Column, Heading, Run, cross
from validation.generate.zheng2002 import dumbbell
from validation.generate.zheng2002.dumbbell import DURATION, NOTES, PARAMETERS, make, tables

TCP, MILD, MILDER, TFRC = "TCP(1,1/2)", "TCP(3/7,1/4)", "TCP(1/5,1/8)", "TFRC"
BACKGROUND = 5
FIVE = tuple(range(1, 6))
TEN = tuple(range(1, 11))
LOW_RED: dict[str, float | str] = {"low": 5, "high": 15}
"""ns-2's own thresholds of RED, packets."""
WIDE: dict[str, float | str] = {"bandwidth": 60e6, "low": 120, "high": 360, "buffer": 720}

PAIR = Column("", "the two kinds of flows that share the bottleneck, in equal numbers")
READING = Column("", "decrease_num_ of TCP(a,b): '1-b' (the factor kept, the definition) or 'b'")
NUMBER = Column("1", "flows of each kind")
ON_OFF = Column("1", "number of on/off UDP background flows")

PAIRS = ((MILDER, TCP), (MILD, TCP), (MILDER, TFRC), (MILD, TFRC), (TFRC, TCP))


def readings(kinds: Sequence[str]) -> tuple[str, ...]:
    """List the readings of the decrease setting that differ for flows of ``kinds``."""
    return ("1-b", "b") if {MILD, MILDER} & set(kinds) else ("1-b",)


def settings(pairs: Sequence[tuple[str, str]]) -> list[tuple[tuple[str, str], str]]:
    """Pairs with their readings."""
    return [(pair, reading) for pair in pairs for reading in readings(pair)]


def together(pair: tuple[str, str]) -> str:
    """Name of a pair."""
    return f"{pair[0]} with {pair[1]}"


def of_two(
    pair: tuple[str, str],
    seed: int,
    number: int = 8,
    reading: str = "1-b",
    factors: Mapping[str, float | str] | None = None,
    **given: Any,
) -> Run:
    """Return a run of flows of two kinds, ``number`` of each.

    Rows are named by the pair, by the reading and by other ``factors``; further arguments are those of `make`.
    """
    about = {"pair": together(pair), "reading": reading, **(factors or {})}
    return make(about, [(kind, number) for kind in pair], seed, reading=reading, **given)


def case(
    heading: Heading,
    factors: Mapping[str, Column],
    runs: Sequence[Run],
    parameters: Mapping[str, tuple[float | str, str]] | None = None,
    notes: tuple[str, ...] = (),
    series: str = "",
) -> Case:
    """Build a case of the dumbbell."""
    return Case(
        name=f"zheng2002/{heading.name}",
        title=heading.title,
        claims=heading.claims,
        program=dumbbell.PROGRAM,
        parameters=PARAMETERS | dict(parameters or {}),
        tables=tables(factors, series=series),
        runs=runs,
        calls=dumbbell.calls,
        read=dumbbell.read,
        simulated_seconds=dumbbell.simulated,
        notes=NOTES + notes,
    )


WINDOWS = case(
    Heading(
        "window-sweep", "one TCP flow on 15 Mb/s against its maximum window (Fig. 3)", ("Z03",)
    ),
    {"window": Column("packets", "window_, the flow's maximum window"), "background": ON_OFF},
    [
        make(
            {"window": window, "background": background},
            [(TCP, 1)],
            seed,
            options={"window": window, "background": background, "duration": 110.0},
        )
        for background in (0, BACKGROUND)
        for window in range(10, 151, 10)
        for seed in FIVE
    ],
    {
        "window_": ("10 to 150", "packets"),
        "background": ("0 or 5", str(PARAMETERS["background"][1])),
        "measured": ("20 to 110", "s"),
    },
    (
        (
            "Without background and below the window where losses begin the seeds differ by nothing "
            "but the time of the start."
        ),
        (
            "Without background the link is full from a window of 100 on; the first losses come at 130 "
            "and lower the utilisation to 0.93, where it stays. With background they come at 110."
        ),
    ),
)


def one_kind(numbers: Sequence[int], options: Mapping[str, float | str] | None = None) -> list[Run]:
    """List the runs of Figs. 4 and 5."""
    return [
        make(
            {"rule": kind, "reading": reading, "number": number},
            [(kind, number)],
            seed,
            reading=reading,
            options=options,
        )
        for kind in (TCP, MILDER, MILD, TFRC)
        for reading in readings((kind,))
        for number in numbers
        for seed in FIVE
    ]


ONE_KIND_FACTORS = {
    "rule": Column("", "kind of all the flows: TCP(a,b) or TFRC"),
    "reading": READING,
    "number": Column("1", "number of flows"),
}
ONE_KIND = case(
    Heading(
        "flows-one-kind", "10 to 70 flows of one kind on 15 Mb/s (Figs. 4 and 5)", ("Z04", "Z05")
    ),
    ONE_KIND_FACTORS,
    one_kind(range(10, 71, 10), {"background": 0}),
    notes=(
        (
            "The queue is hardly ever empty: utilisation is 1.000 except for 10 flows with the reading b "
            "(0.996 and 0.998), so that no order of the kinds can show in it. The loss grows with the "
            "flows for every kind; TFRC loses most and TCP(1/5,1/8) least at every number, which is "
            "not the paper's order."
        ),
    ),
)
ONE_KIND_LOW = case(
    Heading(
        "flows-one-kind-low-thresholds",
        "10 to 70 flows of one kind on 15 Mb/s with RED thresholds of 5 and 15 (Figs. 4 and 5)",
        ("Z04", "Z05"),
    ),
    ONE_KIND_FACTORS,
    one_kind((10, 20, 40, 70), {"low": 5, "high": 15}),
    {"thresh_, maxthresh_": ("5, 15", "packets")},
    notes=(
        (
            "ns-2's own thresholds let the link idle. Reading 1-b: TCP(1,1/2) uses least of it (0.95 "
            "to 0.99), the gentler rules and TFRC all. Reading b: TCP(1,1/2), TCP(1/5,1/8), "
            "TCP(3/7,1/4) from 40 flows on, the paper's order except for TFRC, which fills the link; why "
            "it uses least in the paper is unexplained (its version of ns-2 is older). That "
            "TCP(1,1/2) uses less with 40 flows than with 20 and 70 is unexplained, too."
        ),
    ),
)
LATE_TIMERS = case(
    Heading(
        "flows-one-kind-late-timers",
        "10 to 70 TCP flows on 15 Mb/s with RED thresholds of 5 and 15 and timeouts of at least 1 s",
        ("Z04",),
    ),
    {"rule": ONE_KIND_FACTORS["rule"], "number": ONE_KIND_FACTORS["number"]},
    [
        make(
            {"rule": TCP, "number": number},
            [(TCP, number)],
            seed,
            options={"low": 5, "high": 15, "rto": 1.0},
        )
        for number in range(10, 71, 10)
        for seed in FIVE
    ],
    {"thresh_, maxthresh_": ("5, 15", "packets"), "minrto_": (1.0, "s")},
    ("Both settings are ns-2's own of the paper's time; the default here has timeouts of 0.2 s.",),
)
SMALL_WINDOWS = case(
    Heading(
        "flows-one-kind-small-windows",
        "10 to 70 flows of one kind on 15 Mb/s: windows of 5 packets at most, RED thresholds of 5 and 15, timeouts of at least 1 s",
        ("Z04", "Z05"),
    ),
    {"rule": ONE_KIND_FACTORS["rule"], "number": ONE_KIND_FACTORS["number"]},
    [
        make(
            {"rule": kind, "number": number},
            [(kind, number)],
            seed,
            options={"window": 5, "low": 5, "high": 15, "buffer": 50, "rto": 1.0},
        )
        for kind in (TCP, MILDER, MILD, TFRC)
        for number in (10, 20, 40, 70)
        for seed in FIVE
    ],
    {
        "window_": (5, "packets"),
        "thresh_, maxthresh_": ("5, 15", "packets"),
        "limit_": (50, "packets"),
        "minrto_": (1.0, "s"),
    },
    (
        (
            "Windows of five packets let ten flows lose nothing, as the paper's figure has it. The paper does not "
            "state the largest window. TFRC has none. TCP(a,b) has the reading 1-b."
        ),
    ),
)
PAIRS_8 = case(
    Heading(
        "pairs-8x8",
        "8 + 8 flows of two kinds on 15 Mb/s, with and without background (Figs. 6 to 9)",
        ("Z06", "Z07", "Z08", "Z09", "Z10", "Z17"),
    ),
    {"pair": PAIR, "reading": READING, "background": ON_OFF},
    [
        of_two(
            pair,
            seed,
            8,
            reading,
            {"background": background},
            options={"background": background},
            series=seed == 1,
        )
        for pair, reading in settings(PAIRS)
        for background in (0, BACKGROUND)
        for seed in TEN
    ],
    {"background": ("0 or 5", str(PARAMETERS["background"][1]))},
    notes=(
        (
            "Where the paper's 'about one half' comes from: read as b, TCP(3/7,1/4) gets 0.50 of "
            "TCP(1,1/2)'s rate and 0.46 of TFRC's, TCP(1/5,1/8) 0.32 and 0.30; read as 1-b, 0.99, "
            "0.90, 0.97 and 0.88. With the reading b the variance of TCP(a,b) is still below "
            "TCP(1,1/2)'s, because its mean is, but its coefficient of variation is above."
        ),
    ),
    series="seed 1 only, from the start",
)
HUNDRED = tuple(range(11, 111))
"""Further seeds of pairs of eight flows each."""


def _eight_each(pair: tuple[str, str], seed: int) -> Run:
    """Return a run of eight flows of each of two kinds, in reading 1-b without other flows."""
    return of_two(pair, seed, factors={"background": 0})


PAIRS_8_SEEDS = replace(
    PAIRS_8,
    name="zheng2002/pairs-8x8-seeds",
    title="8 + 8 flows of two kinds on 15 Mb/s, a hundred more seeds",
    claims=PAIRS_8.claims,
    tables=tables({"pair": PAIR, "reading": READING, "background": ON_OFF}),
    runs=[_eight_each(pair, seed) for pair in PAIRS for seed in HUNDRED],
    notes=(
        *NOTES,
        (
            "Seeds 11 to 110; seeds 1 to 10 are the case pairs-8x8. Their number was fixed before they "
            "were run: over ten seeds two intervals decided nothing."
        ),
    ),
)
PAIRS_8_LATEST = replace(
    PAIRS_8_SEEDS,
    name="zheng2002/pairs-8x8-more-seeds",
    title="8 + 8 flows of TCP(3/7,1/4) and TFRC on 15 Mb/s, two hundred more seeds",
    claims=("Z09", "Z17"),
    runs=[_eight_each((MILD, TFRC), seed) for seed in range(111, 311)],
    notes=(
        *NOTES,
        (
            "Seeds 111 to 310; seeds 1 to 110 are two other cases. Their number was fixed before they were "
            "run: over 110 seeds it was open whether these flows differ more than others, and these runs "
            "cost less than ten minutes of CPU time."
        ),
    ),
)
PAIRS_8_LAST = replace(
    PAIRS_8_SEEDS,
    name="zheng2002/pairs-8x8-last-seeds",
    title="8 + 8 flows of two kinds on 15 Mb/s, a thousand more seeds",
    claims=PAIRS_8.claims,
    runs=[
        _eight_each(pair, seed)
        for pair in PAIRS
        for seed in (range(311, 1111) if pair == (MILD, TFRC) else range(111, 161))
    ],
    notes=(
        *NOTES,
        (
            "Seeds 311 to 1110 of TCP(3/7,1/4) with TFRC, whose seeds 1 to 310 are three other cases, and 111 to 160 of "
            "the other pairs. Their number was fixed before they were run: over 310 and 110 seeds it was open whether "
            "the flows of TCP(3/7,1/4) beside TFRC differ more than others. At the difference and the spread seen these "
            "decide it with a probability of 90 %, and this division among the pairs costs least."
        ),
    ),
)
ALL_NUMBERS = (1, 2, 4, 8, 16, 32, 64)
SOME_NUMBERS = (4, 16, 32, 64)
FRIENDLY_FACTORS = {"pair": PAIR, "reading": READING, "number": NUMBER}


def friendliness(
    numbers: Sequence[int],
    options: Mapping[str, float | str] | None = None,
    chosen: Sequence[tuple[tuple[str, str], str]] | None = None,
    seeds: Sequence[int] = FIVE,
) -> list[Run]:
    """List the runs of Figs. 10 to 15 at one rate of the bottleneck: of all pairs, or of those with readings in ``chosen``."""
    return [
        of_two(pair, seed, number, reading, {"number": number}, options=options)
        for pair, reading in (settings(PAIRS) if chosen is None else chosen)
        for number in numbers
        for seed in seeds
    ]


FRIENDLY_15 = case(
    Heading(
        "friendliness-15",
        "1 + 1 to 64 + 64 flows of two kinds on 15 Mb/s (Figs. 10, 12, 14)",
        ("Z11", "Z12", "Z13"),
    ),
    FRIENDLY_FACTORS,
    friendliness(ALL_NUMBERS),
    notes=(
        (
            "Read as 1-b the gap between TCP(a,b) and the other kind grows with the flows, as the paper "
            "says (TCP(3/7,1/4) over TCP(1,1/2): 0.99 with 8 + 8, 0.84 with 64 + 64); read as b it is "
            "largest with few flows and closes (0.51, 0.74), because timeouts, after which all "
            "kinds keep 1/2, replace the cuts."
        ),
    ),
)
PARAMETERS_60: dict[str, tuple[float | str, str]] = {
    "trunk rate": (60e6, "bit/s"),
    "thresh_, maxthresh_": ("120, 360", "packets"),
    "limit_": (720, "packets (drops what finds 719 waiting)"),
    "measured": ("20 to 60", "s"),
}
"""Parameters of the dumbbell on 60 Mb/s."""
FRIENDLY_60 = case(
    Heading(
        "friendliness-60",
        "4 + 4 to 64 + 64 flows of two kinds on 60 Mb/s (Figs. 11, 13, 15)",
        ("Z11", "Z12", "Z13"),
    ),
    FRIENDLY_FACTORS,
    friendliness(SOME_NUMBERS, WIDE | {"duration": 60.0}),
    PARAMETERS_60,
)
LATER = tuple(range(6, 16))
"""Further seeds of the growing numbers of flows."""


def _later(numbers: Mapping[tuple[str, str], Sequence[int]]) -> list[Run]:
    """List the runs of friendliness with the further seeds."""
    return [
        of_two(pair, seed, number, factors={"number": number})
        for pair, chosen in numbers.items()
        for number in chosen
        for seed in LATER
    ]


FRIENDLY_15_SEEDS = replace(
    FRIENDLY_15,
    name="zheng2002/friendliness-15-seeds",
    title="TFRC with TCP and TCP(3/7,1/4) with TFRC on 15 Mb/s, ten more seeds",
    claims=("Z12", "Z13"),
    runs=_later({(MILD, TFRC): (2, 4), (TFRC, TCP): (2, *SOME_NUMBERS)}),
    notes=(
        *NOTES,
        (
            "Seeds 6 to 15; seeds 1 to 5 are the case friendliness-15. Their number was fixed before "
            "they were run: over five seeds the intervals decided nothing."
        ),
    ),
)
FRIENDLY_15_TCP_SEEDS = replace(
    FRIENDLY_15,
    name="zheng2002/friendliness-15-tcp-seeds",
    title="2 + 2 and 4 + 4 flows of TCP(3/7,1/4) with TCP on 15 Mb/s, twenty more seeds",
    claims=("Z11",),
    runs=[
        of_two((MILD, TCP), seed, number, factors={"number": number})
        for number in (2, 4)
        for seed in range(6, 26)
    ],
    notes=(
        *NOTES,
        (
            "Seeds 6 to 25; seeds 1 to 5 are the case friendliness-15. Their number was fixed before "
            "they were run: over five seeds the intervals decided nothing."
        ),
    ),
)


def access_delays(pairs: Sequence[tuple[tuple[str, str], str]], seeds: Iterable[int]) -> list[Run]:
    """List the runs of Figs. 17 to 21."""
    return [
        of_two(pair, seed, 8, reading, options={"step": 2.5e-3})
        for pair, reading in pairs
        for seed in seeds
    ]


ACCESS = case(
    Heading(
        "access-delay",
        "8 + 8 flows of two kinds with access delays of 2 + 2.5 n ms (Figs. 17 to 21)",
        ("Z14",),
    ),
    {"pair": PAIR, "reading": READING},
    access_delays(settings(PAIRS), FIVE),
    {"access delay": ("2e-3 + 2.5e-3 n, n = 0 to 7", "s (on either side; n = flow - 1)")},
    (
        (
            "Flow n of one kind has the delays of flow n of the other, so that kinds are compared at "
            "equal delay; the paper does not say how it numbers the flows."
        ),
        (
            "The rate and its variance fall with the delay for every kind; the coefficient of variation "
            "does not (TCP(1,1/2)'s grows)."
        ),
    ),
)
ACCESS_SEEDS = replace(
    ACCESS,
    name="zheng2002/access-delay-seeds",
    title="8 + 8 flows of two kinds with access delays of 2 + 2.5 n ms, ten more seeds",
    runs=access_delays(
        [(pair, reading) for pair, reading in settings(PAIRS) if reading == "1-b"], LATER
    ),
    notes=(
        *ACCESS.notes,
        (
            "Seeds 6 to 15; seeds 1 to 5 are the case access-delay. Their number was fixed before they "
            "were run: with one of five seeds left out the verdict was another."
        ),
    ),
)
QUEUED = ((MILDER, TCP), (MILDER, TFRC), (TFRC, TCP))
KINDS_OF_QUEUE = ("RED", "DropTail")
OF_QUEUE = {"pair": PAIR, "reading": READING, "queue": Column("", "RED or DropTail")}
QUEUES = case(
    Heading(
        "red-droptail",
        "RED against DropTail, 8 + 8 flows of two kinds on 15 Mb/s (Figs. 22 to 25)",
        ("Z15", "Z18"),
    ),
    {
        **OF_QUEUE,
        "jitter": Column(
            "s", "overhead_ of TCP: a random time below this before each packet, against phases"
        ),
    },
    [
        of_two(pair, seed, 8, reading, factors, options=factors)
        for pair, reading in settings(QUEUED)
        for factors in cross(queue=KINDS_OF_QUEUE, jitter=(0.0, 0.0005))
        for seed in FIVE
    ],
    {"queue": ("RED (in packets) or DropTail", ""), "overhead_": ("0 or 5e-4", "s (TCP only)")},
    (
        (
            "DropTail without jitter shows phase effects: packets of one flow find the queue full "
            "again and again while another's pass. 0.5 ms is about one packet's transmission time. With "
            "TFRC the jitter, which only TCP has, turns the ratio of the rates round."
        ),
        (
            "The link is full with either queue, so that neither is better for throughput; DropTail "
            "keeps 138 to 175 packets waiting and drops 0.3 to 0.8 %, RED 38 to 46 and 0.9 to 1.7 %."
        ),
    ),
)
QUEUES_LOW = case(
    Heading(
        "red-droptail-low-thresholds",
        "RED with thresholds of 5 and 15 against DropTail, buffers of 180 and 50 packets",
        ("Z15", "Z18"),
    ),
    {**OF_QUEUE, "buffer": Column("packets", "limit_ of either queue")},
    [
        of_two(pair, seed, 8, reading, factors, options={**factors, "jitter": 0.0005, **LOW_RED})
        for pair, reading in settings(QUEUED)
        for factors in cross(queue=KINDS_OF_QUEUE, buffer=(180, 50))
        for seed in FIVE
    ],
    {
        "queue": ("RED (in packets) or DropTail", ""),
        "overhead_": (5e-4, "s (TCP only)"),
        "thresh_, maxthresh_": ("5, 15", "packets"),
        "limit_": ("180 or 50", "packets"),
    },
    (
        (
            "Thresholds of 5 and 15 packets and a limit of 50 are ns-2's own. DropTail with 180 packets is that of the "
            "case red-droptail."
        ),
    ),
)


def ecn_runs(options: Mapping[str, float | str] | None = None) -> list[Run]:
    """List the runs of Fig. 26."""
    return [
        of_two(
            pair, seed, number, reading, {"number": number, "ecn": ecn},
            options={"ecn": ecn, **(options or {})},
        )
        for pair, reading in settings(((MILDER, TFRC), (TFRC, TCP)))
        for number in (5, 20, 35)
        for ecn in (0, 1)
        for seed in FIVE
    ]  # fmt: skip


ECN = case(
    Heading(
        "ecn",
        "RED with and without ECN against the number of flows of two kinds on 15 Mb/s (Fig. 26)",
        ("Z16",),
    ),
    {
        "pair": PAIR,
        "reading": READING,
        "number": NUMBER,
        "ecn": Column("1", "1: RED marks and the agents answer to marks; 0: RED drops"),
    },
    ecn_runs(),
    {"setbit_, ecn_": ("0 or 1", "(TFRC's receiver counts a mark as a loss)")},
    (
        (
            "With ECN RED still drops where its probability is above mark_p_ = 0.1, and what finds the "
            "buffer full: at 35 + 35 flows little is left of what ECN spares. loss_events and p_event "
            "leave marks out. Utilisation is 1.000 with and without."
        ),
    ),
)

ECN_LOW = replace(
    ECN,
    name="zheng2002/ecn-low-thresholds",
    title="RED with thresholds of 5 and 15, with and without ECN, against the number of flows",
    parameters={**ECN.parameters, "thresh_, maxthresh_": ("5, 15", "packets")},
    runs=ecn_runs(LOW_RED),
    notes=(*NOTES, "Thresholds of 5 and 15 packets are ns-2's own."),
)

SENSITIVITY: dict[str, tuple[int, dict[str, float | str]]] = {
    "default": (8, {}),
    "thresholds 5/15": (8, {"low": 5, "high": 15}),
    "thresholds 15/45": (8, {"low": 15, "high": 45}),
    "thresholds 60/180": (8, {"low": 60, "high": 180, "buffer": 360}),
    "500-byte packets": (8, {"size": 500, "low": 60, "high": 180, "buffer": 360}),
    "1500-byte packets": (8, {"size": 1500, "low": 20, "high": 60, "buffer": 120}),
    "weight 0.02": (8, {"weight": 0.02}),
    "minrto 1 s": (8, {"rto": 1.0}),
    "TFRC clock 0.1 s": (8, {"tick": 0.1}),
    "60 Mb/s": (16, WIDE),
    "60 Mb/s, thresholds 30/90": (16, WIDE | {"low": 30, "high": 90, "buffer": 180}),
}
SETTINGS = case(
    Heading(
        "sensitivity",
        "8 + 8 flows (16 + 16 on 60 Mb/s) under other choices of what the paper leaves open",
        ("Z06", "Z07", "Z10", "Z11", "Z13"),
    ),
    {"setting": Column("", "what differs from the default"), "pair": PAIR},
    [
        make(
            {"setting": setting, "pair": together(pair)},
            [(kind, number) for kind in pair],
            seed,
            options=options,
        )
        for setting, (number, options) in SENSITIVITY.items()
        for pair in ((MILD, TCP), (TFRC, TCP))
        for seed in FIVE
    ],
    {"varied": ("; ".join(f"{k}: {v[1]}" for k, v in SENSITIVITY.items()), "")},
    (
        (
            "'TFRC clock 0.1 s' has ns-2's default tcp_tick_ of 0.1 s, so that TFRC's t_RTO is "
            "srtt + 4 rttvar in steps of 0.1 s, at least 0.2 s."
        ),
        "TCP(a,b) has the reading 1-b throughout.",
    ),
)
STEP = case(
    Heading(
        "step-response",
        "8 flows of one kind on 15 Mb/s when a constant rate takes half of it from 40 to 65 s",
        ("Z19",),
    ),
    {"rule": ONE_KIND_FACTORS["rule"], "reading": READING},
    [
        make(
            {"rule": kind, "reading": reading},
            [(kind, 8)],
            seed,
            reading=reading,
            series=True,
            options={"cbr": 7.5e6, "on": 40, "off": 65},
        )
        for kind in (TCP, MILDER, MILD, TFRC)
        for reading in readings((kind,))
        for seed in FIVE
    ],
    {"constant rate": (7.5e6, "bit/s from 40 to 65 s, UDP")},
    (
        (
            "For responsiveness (how fast the rate falls after 40 s) and aggressiveness (how fast it "
            "grows after 65 s), which the paper names and does not show. The values of flows.csv are "
            f"means over all of 20 to {DURATION:g} s."
        ),
    ),
    series="from the start",
)

STEP_SEEDS = replace(
    STEP,
    name="zheng2002/step-response-seeds",
    title=f"{STEP.title}: TCP and TFRC, forty more seeds",
    runs=[
        make(
            {"rule": kind, "reading": "1-b"},
            [(kind, 8)],
            seed,
            series=True,
            options={"cbr": 7.5e6, "on": 40, "off": 65},
        )
        for kind in (TCP, TFRC)
        for seed in range(6, 46)
    ],
    notes=(
        *STEP.notes,
        (
            "Seeds 6 to 45; seeds 1 to 5 are the case step-response. Their number was fixed before they "
            "were run: over five seeds one interval decided nothing."
        ),
    ),
)

CASES = [
    PAIRS_8,
    PAIRS_8_SEEDS,
    PAIRS_8_LATEST,
    PAIRS_8_LAST,
    WINDOWS,
    ACCESS,
    ACCESS_SEEDS,
    QUEUES,
    QUEUES_LOW,
    ECN,
    ECN_LOW,
    ONE_KIND,
    ONE_KIND_LOW,
    LATE_TIMERS,
    SMALL_WINDOWS,
    FRIENDLY_15,
    FRIENDLY_60,
    FRIENDLY_15_SEEDS,
    FRIENDLY_15_TCP_SEEDS,
    SETTINGS,
    STEP,
    STEP_SEEDS,
]
