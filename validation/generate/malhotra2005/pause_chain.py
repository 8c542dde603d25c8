"""malhotra2005, Sect. III, in ns-3: the pause tandem with Poisson arrivals, packets counted.

``ns3/pause-chain.cc`` is the tandem on ns-3's event queue and random numbers: exponential or fixed
packet sizes, both readings of rules 6 and 13, and a pause that slows queue 1 down at once, as the
chain has it, or that needs time and lets a packet finish. A run is one seed of a case; every
parameter set has its own random streams, cut into equal batches after a warm-up; the half-widths
are those of Student's t on the batch means of one seed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hopflow.intervals import half_width
from validation.generate.cases import Calls, Case, Column, Rows, Run, Table
from validation.generate.programs import Ns3

PROGRAM = Ns3("pause-chain", ("core",))
SEEDS = range(1, 11)
LEVEL_SEEDS = range(11, 41)
"""Further seeds of the numbers of rates at a round-trip time of a second: over ten the distance from three rates is open, and 28 decide it."""
BATCHES = 10
"""Of one seed."""
OFF = 20

INDEX = {
    "arrival_rates": Column("packets/s", "lambda_1 ... lambda_N, separated by spaces"),
    "high_threshold": Column("packets", "T1; 20 = B2 switches the control off"),
    "low_threshold": Column("packets", "T2"),
    "paused_rate": Column("packets/s", "mu2, rate of queue 1 while paused; 0: it stops"),
    "signal_delay": Column("s", "from the crossing of a threshold to the effect at queue 1"),
    "rtt": Column("s", "mean time between two recoveries of the source"),
    "seed": Column("", "run number of ns-3's random streams"),
}
SETTINGS = {
    "service": Column("", "exponential or fixed (packets of equal size)"),
    "recovery": Column("", "rule 13: always, or up: only while queue 2 has not paused queue 1"),
    "pause_at_threshold": Column(
        "", "exclusive: at j = T1 rule 8 replaces rule 6; both: both fire, as printed"
    ),
    "levels": Column("1", "N"),
    "measured_time": Column("s", "simulated time after the warm-up"),
}
MEASURES = {
    "throughput": (11, "packets/s", "packets that reached the sink per second"),
    "effective_rate_1": (1, "packets/s", "packets that queue 1 accepted per second"),
    "effective_rate_2": (5, "packets/s", "packets that queue 2 accepted per second"),
    "loss_rate_1": (2, "packets/s", "packets that found queue 1 full, per second"),
    "loss_rate_2": (6, "packets/s", "packets that found queue 2 full, per second"),
    "mean_queue_1": (4, "packets", "time average of queue 1, packet in transmission included"),
    "mean_queue_2": (8, "packets", "time average of queue 2, packet in transmission included"),
    "pause_fraction": (9, "1", "fraction of the time in which queue 1 is paused"),
    "pause_rate": (10, "1/s", "OFF messages per second (each is followed by one ON message)"),
}
COUNTS = {
    "arrivals": (0, "packets that the source sent"),
    "accepted_1": (1, "packets that queue 1 accepted"),
    "dropped_1": (2, "packets that found queue 1 full"),
    "sent_1": (3, "packets that queue 1 transmitted"),
    "accepted_2": (5, "packets that queue 2 accepted"),
    "dropped_2": (6, "packets that found queue 2 full"),
    "sent_2": (7, "packets that queue 2 transmitted"),
    "delivered": (11, "packets that reached the sink"),
}
WHOLE = "; whole run, warm-up included, from an empty network"

TABLE = Table(
    index=INDEX,
    values={
        **SETTINGS,
        **{
            name: part
            for key, (_, unit, meaning) in MEASURES.items()
            for name, part in (
                (key, Column(unit, meaning)),
                (
                    f"{key}_half_width",
                    Column(
                        unit, f"half width of the 95 % interval of {key}, batch means of the seed"
                    ),
                ),
            )
        },
        **{key: Column("packets", text + WHOLE) for key, (_, text) in COUNTS.items()},
        "left_1": Column("packets", "packets in queue 1 at the end"),
        "left_2": Column("packets", "packets in queue 2 at the end"),
    },
)

NOTES = (
    (
        "ns-3's event queue and random numbers; packets are counted, not built, and pass from queue "
        "to queue at once. A tandem of ns-3's nodes, devices and channels with the same streams gave "
        "the same counts and queues in every batch (four parameter sets with exponential sizes, mu2 "
        "> 0, recovery 'always'; N = 2 and 3), at three times the CPU time."
    ),
    (
        "Service 'exponential': transmission times are independent at the two queues. Service "
        "'fixed': 1/mu1, 1/mu2, 1/nu exactly; arrivals stay Poisson and recoveries exponential. When "
        "a pause or its end changes the rate of queue 1, the work left of its packet goes on at the "
        "new rate; the next arrival is drawn again when the source changes its rate. With exponential "
        "sizes both leave the chain's law unchanged."
    ),
    (
        "mu2 = 0: queue 1 ends the packet in transmission and stops, as 802.3x has it. A message "
        "takes effect signal_delay after the threshold was crossed and takes no capacity."
    ),
    (
        "The buffers are B1 and B2 and hold the packet in transmission too. An arrival that takes "
        "queue 2 from T1 to T1 + 1 sends OFF, a departure that takes it from T2 to T2 - 1 sends ON; "
        "with T1 = B2 neither happens. A packet that queue 1 transmits while queue 2 is full is lost "
        "there. Losses at either queue take the source from a to min(2a, N)."
    ),
    (
        "Rule 13 is printed for k = 1 only and described without a condition: recovery 'always' is "
        "the default, 'up' the printed rule. Rules 6 and 8 as printed both fire at j = T1, k = 1: "
        "with pause_at_threshold 'both' queue 1 sends at 2 mu1 there, and a packet that it sends "
        "then starts a pause with probability 1/2; without one queue 2 grows on unpaused."
    ),
    (
        "arrivals = accepted_1 + dropped_1, accepted_1 = sent_1 + left_1, sent_1 = accepted_2 + "
        "dropped_2, accepted_2 = sent_2 + left_2, sent_2 = delivered, exactly."
    ),
    (
        f"Rows of one parameter set differ in the seed only and are independent; so are parameter "
        f"sets, whose generators have different seeds. The estimate of a parameter set is the mean "
        f"over its {len(SEEDS)} seeds; its standard error comes from all batch means about the mean "
        f"of their seed, {len(SEEDS)} x {BATCHES - 1} degrees of freedom, or from the {len(SEEDS)} "
        f"seeds. The precision aimed at, 0.3 % of the throughput, is that of the seeds together. A "
        f"half width of 0 at a loss rate means that no packet was lost."
    ),
)


def _warmup(point: Mapping[str, Any]) -> float:
    return 500.0 + 20.0 * float(point["rtt"])


def calls(run: Run) -> Calls:
    """Return the options of ``pause-chain.cc`` for every parameter set."""
    return [_words(point, run["seed"]) for point in run["points"]]


def _words(point: Mapping[str, Any], seed: int) -> list[str]:
    paused = float(point["paused_rate"])
    return [
        f"--rates={','.join(f'{rate:g}' for rate in point['rates'])}",
        f"--rtt={point['rtt']:g}",
        f"--high={point['high']}",
        f"--low={point['low']}",
        f"--paused-rate={paused:g}" if paused > 0 else "--pause=stop",
        f"--signal-delay={point['signal_delay']:g}",
        f"--service={point['service']}",
        f"--recovery={point['recovery']}",
        f"--at-threshold={point['pause_at_threshold']}",
        f"--warmup={_warmup(point):g}",
        f"--batch={point['seconds'] / BATCHES:g}",
        f"--batches={BATCHES}",
        f"--family={point['family']}",
        f"--seed={seed}",
    ]


def simulated_seconds(run: Run) -> float:
    """Add up warm-ups and measured times of the calls of one seed."""
    return sum(float(point["seconds"]) + _warmup(point) for point in run["points"])


def read(run: Run, folder: Path, printed: Sequence[str]) -> dict[str, Rows]:  # noqa: ARG001
    """Return a row for each parameter set of a seed."""
    points = zip(run["points"], printed, strict=True)
    return {"measures": [_row(point, run["seed"], text) for point, text in points]}


def _row(point: Mapping[str, Any], seed: int, printed: str) -> dict[str, Any]:
    lines = np.array([line.split() for line in printed.splitlines()], dtype=np.float64)
    if lines.shape != (BATCHES + 1, 14):
        msg = f"pause-chain printed a table of shape {lines.shape}"
        raise RuntimeError(msg)
    row: dict[str, Any] = {
        "arrival_rates": " ".join(f"{rate:g}" for rate in point["rates"]),
        "high_threshold": point["high"],
        "low_threshold": point["low"],
        "seed": seed,
        "levels": len(point["rates"]),
        "measured_time": point["seconds"],
    }
    row |= {key: point[key] for key in ("paused_rate", "signal_delay", "rtt")}
    row |= {key: point[key] for key in ("service", "recovery", "pause_at_threshold")}
    for name, (column, _, _) in MEASURES.items():
        means = lines[1:, column] / (point["seconds"] / BATCHES)
        row[name] = float(means.mean())
        row[f"{name}_half_width"] = float(half_width(means))
    total = lines.sum(axis=0)
    row |= {name: int(total[column]) for name, (column, _) in COUNTS.items()}
    row["left_1"], row["left_2"] = int(lines[-1, 12]), int(lines[-1, 13])
    return row


def _point(
    rates: Sequence[float],
    rtt: float,
    high: int,
    low: int | None = None,
    *,
    seconds: Mapping[float, float],
    **changes: Any,
) -> dict[str, Any]:
    return {
        "rates": list(rates),
        "rtt": rtt,
        "high": high,
        "low": high if low is None else low,
        "seconds": seconds[rtt] / len(SEEDS),
        "paused_rate": 2.0,
        "signal_delay": 0.0,
        "service": "exponential",
        "recovery": "always",
        "pause_at_threshold": "exclusive",
        **changes,
    }


def _case(
    name: str,
    title: str,
    claims: tuple[str, ...],
    family: int,
    points: Iterable[dict[str, Any]],
    seeds: range = SEEDS,
) -> Case:
    numbered = [{**point, "family": 1000 * family + k} for k, point in enumerate(points)]
    times: dict[float, float] = {point["rtt"]: point["seconds"] for point in numbered}
    return Case(
        name=f"malhotra2005/{name}",
        title=title,
        claims=claims,
        program=PROGRAM,
        parameters={
            "buffer_1": (10.0, "packets"),
            "buffer_2": (20.0, "packets"),
            "link_rate": (100.0, "packets/s"),
            "bottleneck_rate": (15.0, "packets/s"),
            "batches_per_seed": (float(BATCHES), "1"),
            "measured_time": (
                ", ".join(f"{span:g} per seed at RTT {rtt:g} s" for rtt, span in times.items()),
                "s",
            ),
            "warmup": ("500 + 20 RTT", "s"),
        },
        tables={"measures": TABLE},
        runs=[{"seed": seed, "points": numbered} for seed in seeds],
        calls=calls,
        read=read,
        simulated_seconds=simulated_seconds,
        notes=NOTES,
    )


LONG_RUNS = {
    0.1: 1e5,
    1.0: 2e5,
    5.0: 1.2e6,
    20.0: 3e6,
    50.0: 2.5e6,
    100.0: 2.5e6,
    200.0: 3e6,
    500.0: 4e6,
    1000.0: 6e6,
}
"""Measured time of all seeds together by RTT, in s, for 0.3 % of the throughput."""

SHORT = {0.1: 1e5, 1.0: 2e5, 5.0: 6e5, 20.0: 1.2e6}
"""The same for 0.3 to 0.5 %."""

RTTS = (0.1, 1.0, 5.0, 20.0)
PAUSES = ((0.0, 0.0), (0.0, 0.05), (0.0, 0.1), (0.0, 0.2), (2.0, 0.0), (10.0, 0.0))
"""Rates while paused, packets/s, with delays after which queue 1 stops, s."""
SIGNALLING = [(pause, high) for pause in PAUSES for high in (9, 11, 13, 15, 17, 19)]

CASES = (
    _case(
        "pause-thresholds",
        "Pause tandem, lambda_1 = 25: T1 = T2 from 2 to B2, four RTTs",
        ("M01", "M03", "M04", "M06"),
        1,
        (
            _point((25, 1), rtt, high, seconds=LONG_RUNS)
            for rtt in RTTS
            for high in (2, 5, 8, 11, 13, 14, 15, 16, 17, 18, 19, OFF)
        ),
    ),
    _case(
        "pause-granularity",
        "Pause tandem, lambda_1 = 50, N = 2 and N = 3 (lambda_2 = 25): T1 = T2 from 2 to B2, four RTTs",
        ("M01", "M03", "M04", "M07"),
        2,
        (
            _point(rates, rtt, high, seconds=LONG_RUNS)
            for rates in ((50, 1), (50, 25, 1))
            for rtt in RTTS
            for high in (2, 5, 8, 11, 13, 15, 17, 19, OFF)
        ),
    ),
    _case(
        "pause-low-threshold",
        "Pause tandem: T1 = 15 and T2 from 1 to 15, RTT 1 and 5 s",
        ("M01", "M05"),
        3,
        (
            _point((25, 1), rtt, 15, low, seconds=LONG_RUNS)
            for rtt in (1.0, 5.0)
            for low in (1, 5, 10, 13, 15)
        ),
    ),
    _case(
        "pause-off",
        "Pause tandem with T1 = B2: the control is off whatever T2 and mu2 are, RTT 1 s",
        ("M01", "M02"),
        4,
        (
            _point((25, 1), 1.0, OFF, low, seconds=LONG_RUNS, paused_rate=rate)
            for low, rate in ((OFF, 2.0), (5, 2.0), (OFF, 50.0), (5, 0.5))
        ),
    ),
    _case(
        "pause-recovery-up",
        "Pause tandem with rule 13 as printed: recovery only while queue 2 is up",
        ("M01", "M03", "M06"),
        5,
        (
            _point(rates, rtt, high, seconds=SHORT, recovery="up")
            for rates, thresholds in (
                ((25, 1), (5, 11, 15, 17, 19, OFF)),
                ((50, 1), (15, OFF)),
                ((50, 25, 1), (15, OFF)),
            )
            for rtt in RTTS
            for high in thresholds
        ),
    ),
    _case(
        "pause-both-rules",
        "Pause tandem with rules 6 and 8 as printed: both fire at j = T1",
        ("M01", "M05", "M06", "M07"),
        6,
        (
            _point(rates, rtt, high, low, seconds=SHORT, pause_at_threshold="both")
            for rates, thresholds in (
                (
                    (25, 1),
                    (*((high, high) for high in (5, 11, 15, 17, 19, OFF)), (15, 10), (15, 1)),
                ),
                ((50, 1), ((15, 15), (OFF, OFF))),
                ((50, 25, 1), ((15, 15), (OFF, OFF))),
            )
            for rtt in RTTS
            for high, low in thresholds
        ),
    ),
    _case(
        "pause-large-rtt",
        "Pause tandem: RTT 50 to 1000 s, control on and off",
        ("M01", "M03", "M09"),
        7,
        (
            _point((first, 1), rtt, high, seconds=LONG_RUNS)
            for first in (25, 50)
            for rtt in (50.0, 100.0, 200.0, 500.0, 1000.0)
            for high in (15, OFF)
        ),
    ),
    _case(
        "pause-levels",
        "Pause tandem: N = 3, 4, 5 with linear and geometric rates from 50 to 1, control on and off",
        ("M01", "M07", "M08"),
        8,
        (
            _point(rates, rtt, high, seconds=SHORT)
            for rates in (
                (50, 7, 1),
                (50, 34, 17, 1),
                (50, 14, 4, 1),
                (50, 38, 26, 13, 1),
                (50, 19, 7, 3, 1),
            )
            for rtt in RTTS
            for high in (15, OFF)
        ),
    ),
    _case(
        "pause-load",
        "Pause tandem: lambda_1 = 20, 35, 75, 100, control on and off",
        ("M01", "M03", "M04"),
        9,
        (
            _point((first, 1), rtt, high, seconds=SHORT)
            for first in (20, 35, 75, 100)
            for rtt in RTTS
            for high in (15, OFF)
        ),
    ),
    _case(
        "fixed-thresholds",
        "Pause tandem with packets of fixed size: T1 = T2 from 2 to B2, lambda_1 = 25",
        ("M03", "M06", "M13"),
        10,
        (
            _point((25, 1), rtt, high, seconds=SHORT, service="fixed")
            for rtt in RTTS
            for high in (2, 8, 11, 13, 14, 15, 16, 17, 18, 19, OFF)
        ),
    ),
    _case(
        "fixed-recovery-up",
        "Pause tandem with packets of fixed size and rule 13 as printed, lambda_1 = 25",
        ("M03", "M06"),
        11,
        (
            _point((25, 1), rtt, high, seconds=SHORT, service="fixed", recovery="up")
            for rtt in RTTS
            for high in (11, 15, 17, 19, OFF)
        ),
    ),
    _case(
        "fixed-load",
        "Pause tandem with packets of fixed size: lambda_1 = 20, 35, 50, 100, control on and off",
        ("M03", "M04", "M13"),
        12,
        (
            _point((first, 1), rtt, high, seconds=SHORT, service="fixed")
            for first in (20, 35, 50, 100)
            for rtt in RTTS
            for high in (15, OFF)
        ),
    ),
    _case(
        "fixed-levels",
        "Pause tandem with packets of fixed size: N = 3, 4, 5 from 50 to 1, control on and off",
        ("M07", "M08"),
        13,
        (
            _point(rates, rtt, high, seconds=SHORT, service="fixed")
            for rates in ((50, 25, 1), (50, 34, 17, 1), (50, 38, 26, 13, 1))
            for rtt in RTTS
            for high in (15, OFF)
        ),
    ),
    _case(
        "fixed-low-threshold",
        "Pause tandem with packets of fixed size: T1 = 15 and T2 from 1 to 15, RTT 1 and 5 s",
        ("M05", "M17"),
        14,
        (
            _point((25, 1), rtt, 15, low, seconds=SHORT, service="fixed")
            for rtt in (1.0, 5.0)
            for low in (1, 5, 10, 13, 15)
        ),
    ),
    _case(
        "pause-signalling",
        "Pause tandem: mu2 > 0 against a pause that stops queue 1 after a delay, RTT 1 s",
        ("M16", "M17"),
        15,
        (
            _point((25, 1), 1.0, high, seconds=SHORT, paused_rate=paused_rate, signal_delay=delay)
            for (paused_rate, delay), high in SIGNALLING
        ),
    ),
    _case(
        "fixed-signalling",
        "Pause tandem with packets of fixed size: mu2 > 0 against a stop after a delay, RTT 1 s",
        ("M16", "M17"),
        16,
        (
            _point(
                (25, 1),
                1.0,
                high,
                seconds=SHORT,
                paused_rate=paused_rate,
                signal_delay=delay,
                service="fixed",
            )
            for (paused_rate, delay), high in SIGNALLING
        ),
    ),
    _case(
        "pause-levels-seeds",
        "Pause tandem: N = 2, 3, 4, 5 with linear rates from 50 to 1 at RTT 1 s, control on and off, thirty more seeds",
        ("M07",),
        17,
        (
            _point(rates, 1.0, high, seconds=SHORT)
            for rates in ((50, 1), (50, 25, 1), (50, 34, 17, 1), (50, 38, 26, 13, 1))
            for high in (15, OFF)
        ),
        LEVEL_SEEDS,
    ),
)
