"""Whether Linux 6.12 does what the papers and RFCs of its rules say (S09 to S16), from runs of the kernel in virtual time.

Windows are samples of TCP_INFO. During recovery the window is that of the rate reduction, so that losses are judged by the
threshold that the rule sets, and growth from the end of one recovery to the beginning of the next.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from validation import evidence
from validation.claims.effect_claims import effects
from validation.claims.effect_statements import Curve, Effects, Estimates, Statement, beyond
from validation.judgements.verdicts import Verdict
from validation.statistics import Estimate, of_runs

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

ALONE, OTHERS, FURTHER, LONGER = (
    f"linux/{name}" for name in ("alone", "other-rules", "further-buffer", "further-round-trip")
)
WARM_UP = 5.0
"""s of a run that are not judged: slow start and its losses."""
RECOVERY = 3
"""tcpi_ca_state of a sender that repairs losses; 0: open."""
PACKETS_PER_SECOND = 20e6 / 12_000
SAMPLE = 0.01
FEWEST_SAMPLES = 20
"""Of a time between two losses whose growth is judged."""


@dataclass(frozen=True)
class Cycle:
    """From the end of a recovery to the loss after the next one's, of a lone flow.

    Attributes
    ----------
    before, threshold, later
        Window before the loss, threshold after it and at the end of its recovery, packets.
    lost_at
        When its recovery began, s.
    time, window, rtt
        Samples from the end of the recovery to the next loss: s, packets, smoothed round trip in s.
    """

    before: float
    threshold: float
    later: float
    lost_at: float
    time: Floats
    window: Floats
    rtt: Floats

    @property
    def kept(self) -> float:
        """Part of the window that the threshold keeps."""
        return self.threshold / self.before

    @property
    def trips(self) -> Floats:
        """Round trips of each sample."""
        return SAMPLE / self.rtt

    @property
    def growth(self) -> float:
        """By how many packets the window grew."""
        return float(self.window[-1] - self.window[0])


def samples_of(run: str, case: str) -> pd.DataFrame:
    """Return the samples of the only flow of a run, in time."""
    table = evidence.frame(case, "windows")
    return table[table["run"] == run].sort_values("time")


def least_rtt(run: str, case: str) -> float:
    """Return the least round trip of the flow of a run, s."""
    table = evidence.frame(case, "runs")
    return 1e-6 * float(table.loc[table["run"] == run, "min_rtt"].iloc[0])


def cycles_of(run: str, case: str) -> list[Cycle]:
    """Return the cycles of a run whose loss is after `WARM_UP`, the one that the run cuts off without its growth."""
    table = samples_of(run, case)
    time, window, state = (table[name].to_numpy(float) for name in ("time", "cwnd", "state"))
    threshold, rtt = table["ssthresh"].to_numpy(float), 1e-6 * table["srtt"].to_numpy(float)
    inside = state == RECOVERY
    begins = np.flatnonzero(inside[1:] & ~inside[:-1]) + 1
    ends = [begin + int(np.argmin(inside[begin:])) for begin in begins]
    found = []
    for n, (begin, end) in enumerate(zip(begins.tolist(), ends, strict=True)):
        if time[begin] < WARM_UP or inside[end]:
            continue
        last = begins[n + 1] if n + 1 < len(begins) else len(time)
        chosen = slice(end, last)
        found.append(
            Cycle(
                window[begin - 1], threshold[begin], threshold[end], time[begin],
                time[chosen], window[chosen], rtt[chosen],
            )
        )  # fmt: skip
    return found


def cycles(runs: Mapping[str, str]) -> list[Cycle]:
    """Return the cycles of runs, by their names, of their cases."""
    return [cycle for run, case in runs.items() for cycle in cycles_of(run, case)]


def growing(found: Sequence[Cycle]) -> list[Cycle]:
    """Return the cycles that are long enough for a growth."""
    return [cycle for cycle in found if len(cycle.window) >= FEWEST_SAMPLES]


def off(values: Sequence[float], wanted: float = 1.0) -> tuple[Estimate]:
    """Return the mean of values less what is wanted of them."""
    return (beyond(of_runs(values), wanted),)


def kept_curves(runs: Mapping[str, str]) -> dict[str, Curve]:
    """Return the part of the window that a threshold keeps, by run."""
    means = [of_runs([cycle.kept for cycle in cycles_of(*each)]) for each in runs.items()]
    return {"part of the window kept at a loss": Curve(tuple(runs), means)}


AXES = ("run", "part")
RENO = {f"reno-{buffer}": ALONE for buffer in (33, 67, 133)}
CUBIC = {f"cubic-{buffer}": ALONE for buffer in (33, 67, 133)}


def two(rule: str) -> dict[str, str]:
    """Return the runs of a rule with buffers of 67 and 100 packets."""
    return {f"{rule}-67": OTHERS, f"{rule}-100": FURTHER}


@effects("S09", cases=(ALONE,), equal=0.02, also={"growing": 0.05})
def reno_of_linux() -> Effects:
    """Judge Reno against RFC 5681."""
    found = cycles(RENO)
    grown = off([each.growth / each.trips[:-1].sum() for each in growing(found)])
    return Effects(
        {
            "half": Statement(off([each.kept for each in found], 0.5), equal=True),
            "segment": Statement(lambda given: within(grown, given["growing"])),
        },
        kept_curves(RENO),
        AXES,
    )


def within(deviations: Sequence[Estimate], margin: float) -> tuple[Estimate, ...]:
    """Return quantities that are positive where deviations are within a margin of zero."""
    return tuple(
        Estimate(margin + sign * each.value, each.error, each.dof) for each in deviations for sign in (1.0, -1.0)
    )


CUBIC_C, CUBIC_BETA = 0.4, 0.7


def cubic_deviation(run: str) -> list[float]:
    """Return the mean relative deviation of the window from RFC 9438's curve a round trip ahead, by cycle."""
    found, last = [], 0.0
    for cycle in cycles_of(run, ALONE):
        falling = cycle.before < last  # fast convergence, Sect. 4.7
        peak = 0.5 * (1.0 + CUBIC_BETA) * cycle.before if falling else cycle.before
        last = cycle.before
        if len(cycle.window) < FEWEST_SAMPLES:
            continue
        inflection = np.cbrt(max(0.0, peak - cycle.window[0]) / CUBIC_C)
        ahead = cycle.time - cycle.time[0] + cycle.rtt
        curve = CUBIC_C * (ahead - inflection) ** 3 + peak
        found.append(float(np.mean(np.abs(cycle.window / curve - 1.0))))
    return found


@effects("S10", cases=(ALONE,), equal=0.02, also={"near": 0.05})
def cubic_of_linux() -> Effects:
    """Judge CUBIC against RFC 9438."""
    kept = off([each.kept for each in cycles(CUBIC)], CUBIC_BETA)
    apart = of_runs(cubic_deviation("cubic-133"))
    return Effects(
        {
            "beta": Statement(kept, equal=True),
            "curve": Statement(lambda given: (Estimate(given["near"] - apart.value, apart.error, apart.dof),)),
        },
        kept_curves(CUBIC),
        AXES,
        values={"apart": apart},
    )


def highspeed_cut(window: float) -> float:
    """Return b(w) of RFC 3649, Sect. 5, with its parameters 38, 83000 and 0.1."""
    if window <= 38.0:
        return 0.5
    return float(-0.4 * (np.log(window) - np.log(38.0)) / (np.log(83_000.0) - np.log(38.0)) + 0.5)


def highspeed_growth(window: float) -> float:
    """Return a(w) of RFC 3649, Sect. 5: w^2 p(w) 2 b(w) / (2 - b(w)), with p(w) = 0.078 / w^1.2."""
    if window <= 38.0:
        return 1.0
    b = highspeed_cut(window)
    return float(max(1.0, window**0.8 * 0.078 * 2.0 * b / (2.0 - b)))


def _of_rule(cut: Estimates, grown: Estimates, runs: Mapping[str, str]) -> Effects:
    """Return the effects of a rule: its cut less the published one, its growth over the published one less one."""
    return Effects(
        {
            "cut": Statement(cut, equal=True),
            "growth": Statement(lambda given: within(grown, given["growing"])),
        },
        kept_curves(runs),
        AXES,
        values={"grown": 1.0 + grown[0].value},
    )


@effects("S11", cases=(OTHERS, FURTHER), equal=0.02, also={"growing": 0.1})
def highspeed_of_linux() -> Effects:
    """Judge HighSpeed TCP against RFC 3649."""
    runs = two("highspeed")
    found = cycles(runs)
    cut = off([each.kept + highspeed_cut(each.before) for each in found])
    grown = off(
        [
            each.growth / sum(highspeed_growth(w) * t for w, t in zip(each.window, each.trips[:-1], strict=False))
            for each in growing(found)
        ]
    )
    return _of_rule(cut, grown, runs)


@effects("S12", cases=(OTHERS, FURTHER), equal=0.02, also={"growing": 0.1})
def scalable_of_linux() -> Effects:
    """Judge Scalable TCP against Kelly 2003."""
    runs = two("scalable")
    found = cycles(runs)
    grown = off(
        [float(np.log(each.window[-1] / each.window[0]) / (0.01 * each.trips[:-1].sum())) for each in growing(found)]
    )
    return _of_rule(off([each.kept for each in found], 0.875), grown, runs)


PROBE_INTERVAL, PROBE_WINDOW, PROBE_TIME = 10.0, 4.0, 0.2


@dataclass(frozen=True)
class Probe:
    """A ProbeRTT: when its window was four packets first and last, s, that window, and the round trip before it, s."""

    begin: float
    end: float
    window: float
    rtt: float


def probes() -> list[Probe]:
    """Return the times of BBR after `WARM_UP` at which its window is at most that of ProbeRTT."""
    table = samples_of("bbr-67", ALONE)
    time, window = table["time"].to_numpy(float), table["cwnd"].to_numpy(float)
    rtt = 1e-6 * table["srtt"].to_numpy(float)
    small = (window < PROBE_WINDOW + 1.0) & (time > WARM_UP)
    begins = np.flatnonzero(small[1:] & ~small[:-1]) + 1
    found = []
    for begin in begins.tolist():
        end = begin + int(np.argmin(small[begin:])) - 1
        found.append(Probe(time[begin], time[end] + SAMPLE, window[begin : end + 1].min(), rtt[begin]))
    return found


@effects("S13", cases=(ALONE,), equal=0.02, also={"late": 0.06, "trips": 2.0})
def bbr_of_linux() -> Effects:
    """Judge BBR's ProbeRTT against its draft."""
    found = probes()
    gaps = np.diff([each.begin for each in found]) / PROBE_INTERVAL
    lengths = np.array([each.end - each.begin for each in found])
    trip = max(each.rtt for each in found)

    def interval(given: Mapping[str, float]) -> tuple[Estimate, ...]:
        least, most = float(gaps.min()) - 1.0, 1.0 + given["late"] - float(gaps.max())
        return Estimate(least + SAMPLE / PROBE_INTERVAL, 0.0), Estimate(most, 0.0)

    def length(given: Mapping[str, float]) -> tuple[Estimate, ...]:
        most = PROBE_TIME + given["trips"] * trip - float(lengths.max())
        return Estimate(float(lengths.min()) - PROBE_TIME + SAMPLE, 0.0), Estimate(most, 0.0)

    floor = tuple(Estimate(each.window / PROBE_WINDOW - 1.0, 0.0) for each in found)
    names = [f"phase {n + 1}" for n in range(len(found))]
    return Effects(
        {
            "interval": Statement(interval),
            "floor": Statement(floor, equal=True),
            "length": Statement(length),
        },
        {"s with four packets": Curve(names, [Estimate(each, 0.0) for each in lengths.tolist()])},
        ("ProbeRTT", "s"),
        values={"begins": [each.begin for each in found]},
    )


VEGAS_ALPHA, VEGAS_BETA = 2.0, 4.0


def backlog(run: str, case: str) -> float:
    """Return Vegas's mean backlog after `WARM_UP`: window times queueing delay over round trip, packets."""
    table = samples_of(run, case)
    late = table[table["time"] > WARM_UP]
    least = least_rtt(run, case)
    rtt = 1e-6 * late["srtt"].to_numpy(float)
    return float(np.mean(late["cwnd"].to_numpy(float) * (1.0 - least / rtt)))


def queued(run: str, case: str) -> float:
    """Return Vegas's median window after `WARM_UP` less the packets of its least round trip: those that wait, or are held back."""
    table = samples_of(run, case)
    window = float(table.loc[table["time"] > WARM_UP, "cwnd"].median())
    return window - PACKETS_PER_SECOND * least_rtt(run, case)


def between(low: float, high: float) -> Verdict:
    """Return whether a number that lies somewhere from ``low`` to ``high`` is between alpha and beta."""
    inside = low >= VEGAS_ALPHA and high <= VEGAS_BETA
    return Verdict.of(inside, high < VEGAS_ALPHA or low > VEGAS_BETA)


@effects("S14", cases=(OTHERS, FURTHER), also={"held": 2.0})
def vegas_of_linux() -> Effects:
    """Judge Vegas against Brakmo and Peterson 1995."""
    runs = two("vegas")
    smoothed = {run: backlog(run, case) for run, case in runs.items()}
    most = {run: queued(run, case) for run, case in runs.items()}
    ends = [(each - VEGAS_ALPHA, VEGAS_BETA - each) for each in smoothed.values()]
    return Effects(
        {
            "queue": Statement(
                lambda given: Verdict.all_of(between(each - given["held"], each) for each in most.values())
            ),
            "backlog": Statement(tuple(Estimate(each, 0.0) for pair in ends for each in pair)),
        },
        {
            "backlog": Curve(tuple(smoothed), [Estimate(each, 0.0) for each in smoothed.values()]),
            "window less the packets of the least round trip": Curve(
                tuple(most), [Estimate(each, 0.0) for each in most.values()]
            ),
        },
        ("run", "packets"),
    )


WESTWOOD = two("westwood") | {"westwood-80ms": LONGER}


@effects("S15", cases=(OTHERS, FURTHER, LONGER), equal=0.1)
def westwood_of_linux() -> Effects:
    """Judge Westwood+ against Grieco and Mascolo 2004."""
    parts: dict[str, Estimate] = {}
    later = list[float]()
    for run, case in WESTWOOD.items():
        least = least_rtt(run, case)
        full = PACKETS_PER_SECOND * least
        thresholds = [each.threshold / full for each in cycles_of(run, case)]
        parts[run] = Estimate(float(np.mean(thresholds)), 0.0)  # runs are deterministic, and their cycles nearly equal
        later.append(float(np.mean([each.later / full for each in cycles_of(run, case)])))
    return Effects(
        {"pipe": Statement(tuple(beyond(each, 1.0) for each in parts.values()), equal=True)},
        {"threshold over product of rate and least round trip": Curve(tuple(parts), [*parts.values()])},
        AXES,
        values={"later": later},
    )


def htcp_growth(since: float, kept: float) -> float:
    """Return H-TCP's growth per round trip at a time since the loss, s."""
    later = max(0.0, since - 1.0)
    return 2.0 * (1.0 - kept) * (1.0 + 10.0 * later + 0.25 * later**2)


@effects("S16", cases=(OTHERS, FURTHER), equal=0.05, also={"growing": 0.1})
def htcp_of_linux() -> Effects:
    """Judge H-TCP against Leith and Shorten 2004."""
    runs = two("htcp")
    ratios, grown = list[float](), list[float]()
    for run, case in runs.items():
        least = least_rtt(run, case)
        found = cycles_of(run, case)
        for before, cycle in zip([None, *found[:-1]], found, strict=True):
            if before is None:
                continue
            wanted = float(np.clip(least / before.rtt.max(), 0.5, 0.8))
            ratios.append(cycle.kept / wanted)
            if len(cycle.window) >= FEWEST_SAMPLES:
                steps = zip(cycle.time, cycle.trips[:-1], strict=False)
                said = sum(htcp_growth(t - cycle.lost_at, wanted) * trip for t, trip in steps)
                grown.append(cycle.growth / said)
    return Effects(
        {
            "cut": Statement(off(ratios), equal=True),
            "growth": Statement(lambda given: within(off(grown), given["growing"])),
        },
        kept_curves(runs),
        AXES,
        values={"grown": float(np.mean(grown))},
    )
