"""Further seeds of kaneko2007's cases, where those of ``sweeps`` left a statement open."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from validation.generate.cases import Case, Heading, Run
from validation.generate.kaneko2007 import parking_lot, sweeps
from validation.generate.kaneko2007.sweeps import (
    BY_RATE,
    FRIENDLY,
    THREE_SEEDS,
    WITH_RENO,
    high_speed,
    in_ns3,
    loss_sweep,
    loss_sweep_with_reno,
    ns3_case,
    rtt_fairness,
    small_bdp,
    windows,
)


def _further(
    case: Case, seeds: str, runs: Iterable[Run], title: str, *, series: bool = False
) -> Case:
    """Repeat a case with further seeds, under a name that ends in ``more-seeds``; with its series or without."""
    simulator = case.name[-3:]
    return replace(
        case,
        name=f"{case.name[:-4]}-more-seeds-{simulator}",
        title=title,
        tables={key: table for key, table in case.tables.items() if series or key != "series"},
        runs=[{k: v for k, v in run.items() if series or k != "bin"} for run in runs],
        notes=(
            *(note for note in case.notes if note != THREE_SEEDS),
            (
                f"{seeds}. Their number was fixed before they were run: over the bundled seeds some "
                "intervals decided nothing, and these runs cost less than ten minutes of CPU time."
            ),
        ),
    )


def _named(name: str) -> Case:
    return next(case for case in sweeps.CASES if case.name == f"kaneko2007/{name}")


FREQUENT = (1e-3, 1e-2)
"""Larger loss rates."""


def _far_only(runs: Iterable[Run]) -> list[Run]:
    """Take the runs whose round trips differ."""
    return [run for run in runs if run["factors"]["long_rtt"] > 0.02]


CASES = [
    _further(
        next(case for case in parking_lot.CASES if case.name == "kaneko2007/parking-lot-ns2"),
        "Seeds 6 to 15; seeds 1 to 5 are the case parking-lot-ns2",
        parking_lot.lots(("compound", "bic", "cubic"), range(6, 16)),
        "three CTCP, BIC or CUBIC and three Reno flows over 1 to 3 bottlenecks, ten more seeds",
    ),
    _further(
        _named("loss-sweep-ns2"),
        "Seeds 6 to 25; seeds 1 to 5 are the case loss-sweep-ns2",
        sweeps.losses(loss_sweep(("illinois",), range(6, 26)), (3e-4, 1e-3, 3e-3)),
        "one flow of Illinois under random loss from 3e-4 to 3e-3 at 100 Mb/s, 40 ms, twenty more seeds",
    ),
    _further(
        _named("windows-with-reno-ns2"),
        "Seeds 6 to 35, those from 16 on because the first 15 decided nothing; seeds 1 to 5 are the case windows-with-reno-ns2",
        windows(("compound",), ("reno",), range(6, 36)),
        "windows of CTCP and one Reno flow, RTT 80 ms, buffer BDP/2, p 1e-6, thirty more seeds",
    ),
    _further(
        _named("loss-sweep-with-reno-ns3"),
        "Seeds 7 to 14; seeds 1 to 6 are two other cases",
        in_ns3(
            sweeps.losses(loss_sweep_with_reno(("fusion", "reno"), range(7, 15)), (1e-3, 1e-2)),
            10.0,
            40.0,
        ),
        "Fusion or Reno and one Reno flow under random loss of 1e-3 and 0.01, eight more seeds",
    ),
    _further(
        _named("small-bdp-ns3"),
        "Seeds 6 to 25; seeds 1 to 5 are the case small-bdp-ns3",
        in_ns3(small_bdp(("fusion", "areno"), range(6, 26)), 10.0, 60.0),
        "Fusion or ARENO and one Reno flow over 30 Mb/s, 18 ms, 50 packets, twenty more seeds",
    ),
    ns3_case(
        Heading(
            "high-speed-reno",
            "two Reno flows, and Fusion with one, at 100 and 300 Mb/s, p 1e-5, 44 ms: further seeds",
            ("K07",),
        ),
        BY_RATE,
        in_ns3(
            [
                *high_speed(("reno",), (100e6, 300e6), range(1, 10)),
                *high_speed(("fusion",), (100e6, 300e6), range(4, 10)),
            ],
            10.0,
            40.0,
        ),
        notes=(
            WITH_RENO,
            (
                "Reno: seeds 1 to 9; Fusion: seeds 4 to 9, seeds 1 to 3 are the case high-speed-ns3. Their number "
                "was fixed before they were run: these runs cost less than ten minutes of CPU time."
            ),
        ),
    ),
    _further(
        _named("rtt-fairness-ns2"),
        "Seeds 6 to 15; seeds 1 to 5 are the case rtt-fairness-ns2",
        _far_only(rtt_fairness(("reno", "compound", "cubic"), range(6, 16))),
        "two flows of Reno, CTCP or CUBIC, RTT 20 ms against 60 and 120 ms, ten more seeds",
    ),
    _further(
        _named("windows-alone-ns3"),
        "Seeds 7 to 14, with the series; seeds 1 to 6 are two other cases",
        in_ns3(windows(("compound",), (), range(7, 15)), 20.0, 60.0),
        "window of one flow of CTCP, RTT 80 ms, buffer BDP/2, p 1e-6, eight more seeds",
        series=True,
    ),
    _further(
        _named("windows-with-reno-ns3"),
        "Seeds 7 to 14; seeds 1 to 6 are two other cases",
        in_ns3(windows(("fusion",), ("reno",), range(7, 15)), 20.0, 60.0),
        "windows of Fusion and one Reno flow, RTT 80 ms, buffer BDP/2, p 1e-6, eight more seeds",
    ),
    _further(
        _named("loss-sweep-with-reno-ns2"),
        "Seeds 6 to 15; seeds 1 to 5 are the case loss-sweep-with-reno-ns2",
        sweeps.losses(loss_sweep_with_reno(("bic", "reno"), range(6, 16)), FREQUENT),
        "BIC or Reno and one Reno flow under random loss of 1e-3 and 0.01, ten more seeds",
    ),
    replace(
        _further(
            _named("loss-sweep-with-reno-ns3"),
            "Seeds 4 to 13; seeds 1 to 3 are the case loss-sweep-with-reno-ns3",
            in_ns3(
                sweeps.losses(loss_sweep_with_reno(("areno", "compound"), range(4, 14)), FREQUENT),
                10.0,
                40.0,
            ),
            "ARENO or CTCP and one Reno flow under random loss of 1e-3 and 0.01, ten more seeds",
        ),
        name="kaneko2007/loss-sweep-with-reno-others-ns3",
    ),
    replace(
        _further(
            _named("loss-sweep-with-reno-ns3"),
            "Seeds 4 to 11; seeds 1 to 3 are the case loss-sweep-with-reno-ns3",
            in_ns3(
                sweeps.losses(loss_sweep_with_reno(("compound",), range(4, 12)), (1e-6, 1e-5)),
                10.0,
                40.0,
            ),
            "CTCP and one Reno flow under random loss of 1e-6 and 1e-5, eight more seeds",
        ),
        name="kaneko2007/loss-sweep-with-reno-compound-ns3",
    ),
    _further(
        _named("rtt-fairness-ns3"),
        "Seeds 4 to 11; seeds 1 to 3 are the case rtt-fairness-ns3",
        in_ns3(_far_only(rtt_fairness((*FRIENDLY, "cubic"), range(4, 12))), 10.0, 40.0),
        "two flows of one rule, RTT 20 ms against 60 and 120 ms, eight more seeds",
    ),
]
