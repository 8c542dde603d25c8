"""Pause messages with delay: the interpretation of mu2, and suitable thresholds (M16, M17)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence

from markov import stationary
from validation import evidence
from validation.claims.effect_claims import by, effects
from validation.claims.effect_statements import Curve, Effects, Estimates, Statement
from validation.claims.malhotra2005 import chain, level, protocol
from validation.claims.malhotra2005.chain import HIGH, LIGHT, Setting
from validation.claims.malhotra2005.delayed import throughput
from validation.judgements.verdicts import Verdict
from validation.networks.further_seeds import CASE
from validation.statistics import Estimate, average, combine, difference, everywhere, of_runs, ratio

TANDEM = "malhotra2005/pause-signalling"
FIXED = "malhotra2005/fixed-signalling"
TCP = "malhotra2005/tcp-signalling"
TIMED = "malhotra2005/tcp-timed-pause"
FIXED_LOW = "malhotra2005/fixed-low-threshold"
DELAYS = (0.05, 0.1, 0.2)
"""Delays of a message in the runs, s."""
HIGHS = (9, 11, 13, 15, 17, 19)
FITTED, JUDGED = (9, 13, 17), (11, 15, 19)
"""Thresholds to which mu2 is fitted, and those on which it is judged."""
PAUSED = tuple(float(rate) for rate in (*range(1, 15), *range(16, 100, 4)))
"""Rates mu2 tried, packets/s."""
BELOW = tuple(rate for rate in PAUSED if rate < chain.NU)
"""Those at which queue 2 drains, so that queue 1 is paused."""
MIMICS = 0.01
"""Largest relative difference of throughputs between a delay and its substitute."""
LOW_END, HIGH_END, LATE = 11, 17, 0.2
"""Thresholds, and the delay, by which the move of the best one is judged."""
LATER = 0.5
"""The delay of the runs at a round-trip time of 5 s by which it is judged, s."""
LEVEL_SEEDS = 24
"""Runs of each at packet level: the move of ns-3's runs is 0.1 packets/s, half of what eight runs are uncertain by."""
LEVEL_LOWS = (1, 5, 10, 15)
"""Low thresholds at packet level, those of M11, packets."""


def _instant(mu2: float, high: int) -> float:
    return chain.solve(Setting(LIGHT, high, paused_rate=mu2)).throughput


def fitted(target: Mapping[int, float], rates: Sequence[float] = PAUSED) -> float:
    """Return the one of some mu2 without a delay whose throughputs are nearest to the target's."""

    def distance(mu2: float) -> float:
        return max(abs(_instant(mu2, high) / throughput - 1.0) for high, throughput in target.items())

    return min(rates, key=distance)


def _tandem(case: str) -> dict[tuple[float, int], Estimate]:
    """Return the throughput by delay and threshold of a tandem that stops when paused."""
    frame = evidence.frame(case)
    return by(frame[frame["paused_rate"] == 0], ["signal_delay", "high_threshold"], "throughput")


def _errors(mu2: float, delayed: Mapping[int, Estimate], highs: Sequence[int]) -> Estimates:
    """Return by how much throughputs with mu2 and no delay differ from those with a delay, relative, by threshold."""
    ratios = (ratio(Estimate(_instant(mu2, high), 0.0), delayed[high]) for high in highs)
    return tuple(difference(quotient, Estimate(1.0, 0.0)) for quotient in ratios)


def _within(errors: Estimates, margin: float, level: float) -> Verdict:
    """Return whether errors are all within a margin of zero."""
    room = Estimate(margin, 0.0)
    return everywhere([combine((room, error), (1.0, sign)) for error in errors for sign in (1.0, -1.0)], level)


def _substitute(delayed: Mapping[float, Mapping[int, Estimate]]) -> Callable[[Mapping[str, float]], Verdict]:
    """Return the verdict on whether one mu2 below nu has the throughputs of some delay at all thresholds.

    The paper says that a rate may: one delay suffices. The rate of each is fitted at other thresholds than those that
    it is judged at. The opposite is judged at the paper's own rate, which no delay has at all thresholds.
    """
    rates = {d: fitted({h: runs[h].value for h in FITTED}, BELOW) for d, runs in delayed.items()}
    fits = {d: _errors(rates[d], runs, JUDGED) for d, runs in delayed.items()}
    papers = {d: _errors(Setting().paused_rate, runs, HIGHS) for d, runs in delayed.items()}

    def judged(thresholds: Mapping[str, float]) -> Verdict:
        margin, level = thresholds["margin"], thresholds["level"]
        some = any(_within(errors, margin, level / len(fits)) is Verdict.HOLDS for errors in fits.values())
        none = all(_within(errors, margin, level) is Verdict.CONTRADICTED for errors in papers.values())
        return Verdict.of(some, none)

    return judged


@effects("M16", cases=(TANDEM, FIXED), equal=MIMICS)
def mimicked_delay() -> Effects:
    """Fit mu2 to throughputs with delayed messages at some thresholds; compare at others."""
    seen = {"exponential packets": _tandem(TANDEM), "packets of fixed size": _tandem(FIXED)}
    packets = seen["exponential packets"]
    rates = {d: fitted({h: packets[d, h].value for h in FITTED}) for d in DELAYS}
    own = {d: fitted({h: throughput(d, h) for h in FITTED}) for d in DELAYS}
    far = {
        (d, high): difference(ratio(Estimate(_instant(rates[d], high), 0.0), packets[d, high]), Estimate(1.0, 0.0))
        for d in DELAYS
        for high in JUDGED
    }
    exact = tuple(Estimate(_instant(own[d], high) / throughput(d, high) - 1.0, 0.0) for d in DELAYS for high in JUDGED)
    none = {high: packets[0.0, high] for high in HIGHS}
    delayed = {d: {h: packets[d, h] for h in HIGHS} for d in DELAYS}
    derived = {d: {h: Estimate(throughput(d, h), 0.0) for h in HIGHS} for d in DELAYS}
    paused = {d: fitted({h: packets[d, h].value for h in FITTED}, BELOW) for d in DELAYS}
    return Effects(
        {
            "substitutes": Statement(_substitute(delayed), _substitute(derived)),
            "nearer": Statement(
                tuple(_gained(packets, d, rates[d]) for d in DELAYS),
                tuple(_gained_exactly(d, own[d]) for d in DELAYS),
            ),
            "mimics": Statement(tuple(far.values()), exact, equal=True),
        },
        {
            f"delay {d:g} s": Curve(
                HIGHS, [packets[d, h] for h in HIGHS], [throughput(d, h) for h in HIGHS]
            )
            for d in DELAYS
        }
        | {
            f"mu2 = {rates[d]:g} at once": Curve(HIGHS, (), [_instant(rates[d], h) for h in HIGHS])
            for d in DELAYS
        },
        ("T1 = T2 (packets)", "throughput (packets/s)"),
        values={
            "rates": rates, "own": own, "none": none, "far": far, "paused": paused, "paper_rate": Setting().paused_rate,
            "off": {d: _farthest(_errors(paused[d], delayed[d], HIGHS)) for d in DELAYS},
            "papers": {d: _farthest(_errors(Setting().paused_rate, delayed[d], HIGHS)) for d in DELAYS},
            "worst": _farthest(far.values()),
            "late": packets[LATE, HIGHS[-1]],
            "phases": max(
                abs(throughput(d, h) / packets[d, h].value - 1) for d in DELAYS for h in HIGHS
            ),
            "fixed": {d: seen["packets of fixed size"][d, HIGH] for d in DELAYS},
        },
    )  # fmt: skip


def _farthest(errors: Iterable[Estimate]) -> Estimate:
    """Return the error that is farthest from zero."""
    return max(errors, key=lambda error: abs(error.value))


def _gained(packets: dict[tuple[float, int], Estimate], delay: float, mu2: float) -> Estimate:
    """Return by how much mu2 is nearer to the runs with a delay than stopping at once, relative, mean over thresholds."""
    nearer = []
    for high in JUDGED:
        seen = packets[delay, high]
        stopped, fitting = packets[0.0, high].value, _instant(mu2, high)
        near, far = (abs(value / seen.value - 1.0) for value in (fitting, stopped))
        error = (seen.error / seen.value + packets[0.0, high].error / stopped) * (far > 0.0)
        nearer.append(Estimate(far - near, error, seen.dof))
    return average(nearer)


def _gained_exactly(delay: float, mu2: float) -> Estimate:
    """Return the same of the chain with the delay as phases."""
    nearer = []
    for high in JUDGED:
        seen = throughput(delay, high)
        far, near = (abs(value / seen - 1.0) for value in (throughput(1e-5, high), _instant(mu2, high)))
        nearer.append(far - near)
    return Estimate(sum(nearer) / len(nearer), 0.0)


def _move(throughputs: dict[tuple[float, int], Estimate], delay: float = LATE) -> Estimate:
    """Return how much of the advantage of a high threshold a delay takes away, packets/s."""
    at_once, late = (difference(throughputs[d, HIGH_END], throughputs[d, LOW_END]) for d in (0.0, delay))
    return difference(at_once, late)


def pauses(low: int, high: int = HIGH) -> float:
    """Return the OFF messages per second of the chain."""
    model = Setting(LIGHT, high, low).model
    answer = stationary(model)
    s = answer.states
    crosses = (s.i > 0) & (s.k == 1) & (s.j == high)
    return float((answer.pi * crosses).sum() * model.params.link_rate)


def _falls(found: dict[int, Estimate]) -> Estimates:
    """Return how much each rate of messages is above that of the next lower threshold."""
    places = sorted(place for place in found if place <= HIGH)
    return tuple(difference(found[b], found[a]) for a, b in itertools.pairwise(places))


def _messages_of_tcp(rtt: float) -> dict[int, Estimate]:
    """Return TCP's OFF messages per second by the low threshold, T1 = 15."""
    frame = evidence.frame(protocol.LOW_THRESHOLD)
    frame = frame[frame["rtt"] == rtt]
    return by(frame.assign(off=frame["pauses"] / frame["measured_time"]), "low_threshold", "off")


def _own_move() -> Estimate:
    """Return the move of the best threshold at hopflow's packet level, packets/s."""
    ways = {
        (d, high): level.Bridges(1.0, high, high, message=max(d, level.MESSAGE))
        for d in (0.0, LATE)
        for high in (LOW_END, HIGH_END)
    }
    runs = {key: level.files(way, seeds=LEVEL_SEEDS) for key, way in ways.items()}
    return _move({key: of_runs(each.goodput) for key, each in runs.items()})


def _own_messages() -> dict[int, Estimate]:
    """Return OFF messages per second by the low threshold at hopflow's packet level."""
    runs = {low: level.files(level.Bridges(1.0, HIGH, low)) for low in LEVEL_LOWS}
    return {low: of_runs(each.pauses) for low, each in runs.items()}


@effects(
    "M17",
    cases=(TCP, protocol.LOW_THRESHOLD, protocol.THRESHOLDS, TIMED, TANDEM, FIXED, FIXED_LOW, CASE),
)
def thresholds_and_messages() -> Effects:
    """Measure the best threshold by the delay of a message, and messages by the low threshold."""
    frame = evidence.frame(TCP)
    tcp = {rtt: by(frame[frame["rtt"] == rtt], ["signal_delay", "high_threshold"], "goodput") for rtt in (1.0, 5.0)}
    tandem, sized = _tandem(TANDEM), _tandem(FIXED)
    exact = {(d, h): throughput(d, h) for d in (LATE,) for h in (LOW_END, HIGH_END)}
    at_once = {(0.0, h): throughput(1e-5, h) for h in (LOW_END, HIGH_END)}
    derived = {key: Estimate(value, 0.0) for key, value in (exact | at_once).items()}
    low, low_at_long_rtt = (_messages_of_tcp(rtt) for rtt in tcp)
    places = sorted(place for place in low if place <= HIGH)
    own = {place: Estimate(pauses(place), 0.0) for place in places}
    fixed = evidence.frame(FIXED_LOW).query(f"rtt == 1 and high_threshold == {HIGH}")
    sizes = by(fixed, "low_threshold", "pause_rate")
    timed = evidence.frame(TIMED).query(f"rtt == 1 and high_threshold == {HIGH}")
    rate, goodput = (by(timed, "pause_quanta", name) for name in ("pause_message_rate", "goodput"))
    longest = max(rate)
    moved, sent = _own_move(), _own_messages()
    return Effects(
        {
            "moves": Statement((_move(tcp[1.0]),), (_move(derived),), level=(moved,)),
            "fall": Statement(_falls(low), _falls(own), level=_falls(sent)),
        },
        {
            "TCP": Curve(places, [low[p] for p in places]),
            "TCP at hopflow's packet level": Curve(list(sent), level=list(sent.values())),
            "chain and tandem of fixed packets": Curve(
                sorted(sizes), [sizes[p] for p in sorted(sizes)], [pauses(p) for p in sorted(sizes)]
            ),
        },
        ("T2 (packets)", "OFF messages (1/s)"),
        values={
            "tcp": tcp, "tandem": _move(tandem), "sized": _move(sized), "move": _move(tcp[1.0]),
            "own": moved, "sent": sent, "chain": _move(derived).value, "ends": (low[places[0]], low[places[-1]]),
            "rate": (rate[0], rate[longest]), "goodput": (goodput[0], goodput[longest]),
            "longest": longest,
        },
        readings={
            "a tandem with packets of fixed size": {"moves": Statement((_move(sized),))},
            f"RTT 5 s, a delay of {LATER:g} s": {
                "moves": Statement((_move(tcp[5.0], LATER),)), "fall": Statement(_falls(low_at_long_rtt)),
            },
        },
    )  # fmt: skip


mimicked_delay.constants_of(chain)
