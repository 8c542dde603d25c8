"""The root-p law of TCP over pause (M15)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping

import numpy as np

from validation import evidence
from validation.claims.effect_claims import effects
from validation.claims.effect_statements import Curve, Effects, Statement, beyond
from validation.claims.malhotra2005 import chain, endless_files, level, protocol
from validation.claims.malhotra2005.chain import Setting
from validation.claims.malhotra2005.endless_files import FLOWS, lost_part
from validation.judgements.verdicts import Verdict
from validation.networks.further_seeds import CASE
from validation.statistics import Estimate, difference, of_runs, ratio

LAW = math.sqrt(1.5)
"""Throughput x RTT x sqrt(p) in the root-p law (Mathis et al. 1997)."""


def _law(case: str, columns: list[str]) -> dict[tuple[float, ...], dict[str, Estimate]]:
    """Return throughput per flow x RTT x sqrt(p) of each row, pausing on and off."""
    frame = evidence.frame(case)
    flows = frame.get("flows", 8)
    lost = (frame["dropped_1"] + frame["dropped_2"]) / frame["arrivals_1"]
    frame = frame.assign(law=frame["goodput"] / flows * frame["mean_rtt"] * np.sqrt(lost))
    found: dict[tuple[float, ...], dict[str, Estimate]] = {}
    for (*key, pause), seeds in frame.groupby([*columns, "pause"])["law"]:
        found.setdefault(tuple(float(str(each)) for each in key), {})[str(pause)] = of_runs(seeds.to_numpy())
    return found


def chain_law(rtt: float, *, pause: bool) -> float:
    """Return throughput x RTT x sqrt(p) of the chain, the RTT with the waiting in both queues."""
    setting = Setting(rtt=rtt)
    answer = chain.solve(setting if pause else setting.off)
    lost = lost_part(setting if pause else setting.off)
    waiting = sum(queue / rate for queue, rate in zip(answer.mean_queue, answer.effective_rate, strict=True))
    return answer.throughput * (rtt + waiting) * math.sqrt(lost)


def _somewhere(changes: Iterable[Estimate]) -> Callable[[Mapping[str, float]], Verdict]:
    """Return the verdict on whether any of some changes is certainly beyond the margin; that none is, is the opposite."""
    sides = [side for e in changes for side in (e, -e)]

    def judged(given: Mapping[str, float]) -> Verdict:
        tests = [beyond(side, given["margin"]) for side in sides]
        found = any(e.p_positive() < given["level"] / len(tests) for e in tests)
        return Verdict.of(found, all((-e).p_positive() < given["level"] for e in tests))

    return judged


def _at_packet_level() -> list[Estimate]:
    """Return the changes of the law by pausing at hopflow's packet level, of endless files."""
    laws = ([of_runs(level.endless(rtt, p).law) for p in (True, False)] for rtt in level.RTTS)
    return [difference(ratio(on, off), Estimate(1.0, 0.0)) for on, off in laws]


@effects(
    "M15",
    cases=(protocol.ENDLESS, protocol.THINK, *protocol.LONG_RTTS.values(), FLOWS, CASE),
    equal=True,
)
def root_p_law() -> Effects:
    """Measure the quantity that is constant by the root-p law, with and without pausing."""
    traffic = {"endless": protocol.ENDLESS, "think": protocol.THINK}
    found = {name: _law(case, ["rtt"]) for name, case in traffic.items()}
    for case in protocol.LONG_RTTS.values():
        found["think"] |= _law(case, ["rtt"])
    flows = _law(FLOWS, ["flows"])
    changes = {
        (name, rtt): difference(ratio(pair["on"], pair["off"]), Estimate(1.0, 0.0))
        for name, laws in found.items()
        for (rtt,), pair in laws.items()
    }
    rtts = [rtt for (rtt,) in found["endless"]]
    exact = [chain_law(r, pause=True) / chain_law(r, pause=False) - 1.0 for r in rtts]
    return Effects(
        {
            "fails": Statement(
                _somewhere(changes.values()),
                lambda given: Verdict.of(max(map(abs, exact)) > given["margin"]),
                level=_somewhere(_at_packet_level()),
            )
        },
        {
            name: Curve(
                [rtt for kind, rtt in changes if kind == name],
                [e for (kind, _), e in changes.items() if kind == name],
                exact if name == "endless" else (),
            )
            for name in traffic
        },
        ("RTT (s)", "change of rate x RTT x sqrt(p) by pausing, relative"),
        "x",
        values={
            "short": found["endless"][0.1,], "long": found["think"][20.0,],
            "off": [pair["off"] for pair in found["endless"].values()],
            "largest": max(changes.items(), key=lambda item: abs(item[1].value)),
            "exact": dict(zip(rtts, exact, strict=True)),
            "flows": {int(n): e for (n, *_), e in itertools.islice(flows.items(), 5)},
        },
    )  # fmt: skip


root_p_law.constants_of(endless_files)
