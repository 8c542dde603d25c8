"""Pairs of flows of kaneko2007's slides at hopflow's packet level, at one setting of what the slides leave open.

``python -m validation.inference.rule_pairs seed 1 later 5 ...`` prints a line for each flow of each pair.
"""

from __future__ import annotations

import copy
import itertools
import sys
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from dfcmodel import Flow, Link, Packets, Scenario, simulate
from hopflow.units import mbps
from responsefn import ARENO, BIC, CTCP, CUBIC, HSTCP, Fusion, Reno, WindowRule
from validation.inference.parameters import Value

__all__ = ["LONG_RTTS", "NAMES", "PAIRS", "Bottleneck", "experiments", "rules_of", "throughputs"]

NAMES = ("Reno", "Fusion", "ARENO", "CTCP", "HSTCP", "BIC", "CUBIC")
"""Rules, in the order of the slide."""
PAIRS = tuple(itertools.combinations_with_replacement(NAMES, 2))
"""Pairs of them, the first one of which starts first."""
BITS, LOSS, SOCKET, PACKET = 100e6, 1e-6, 10e6, 12_000
"""Rate of the link in bit/s, random loss, socket buffer in bytes, bits of a packet: all stated but the last."""
FAST = 50.0
"""Rate of the access links over that of the bottleneck."""
LONG_RTTS = (0.06, 0.12)
"""Round-trip times of the longer paths, s."""
SAMPLES = 200
"""Samples in the time measured."""


def rules_of(setting: Mapping[str, Any]) -> dict[str, WindowRule]:
    """Return the rules of a setting by their names."""
    return {
        "Reno": Reno(),
        "Fusion": Fusion(min_delay=float(setting["fusion_delay"])),
        "ARENO": ARENO(inclusive=int(setting["areno_inclusive"]), memory=float(setting["areno_memory"])),
        "CTCP": CTCP(gamma=float(setting["ctcp_gamma"])),
        "HSTCP": HSTCP(table=int(setting["hstcp_table"])),
        "BIC": BIC(b=float(setting["bic_b"]), largest=float(setting["bic_largest"])),
        "CUBIC": CUBIC(beta=float(setting["cubic_beta"]), fast_convergence=int(setting["cubic_fast"])),
    }  # fmt: skip


def _ending(rule: WindowRule, window: float) -> WindowRule:
    """Return a rule whose first slow start ends at a window."""
    one = copy.copy(rule)

    def start(rtt: float, bandwidth: float | None = None) -> Any:
        return rule.start(rtt, bandwidth)._replace(ssthresh=window)

    object.__setattr__(one, "start", start)
    return one


class Bottleneck(NamedTuple):
    """The link that two flows share.

    Attributes
    ----------
    bits
        Its rate, bit/s.
    rtts
        Round-trip times of the two flows without queues, s.
    buffer
        Its queue in packets.
    loss
        Probability that a packet is lost at random.
    """

    bits: float
    rtts: tuple[float, float]
    buffer: int
    loss: float = 0.0


def of_pairs(setting: Mapping[str, Value]) -> Bottleneck:
    """Return the link of the slide of pairs: its queue is half the BDP."""
    rtt = float(setting["rtt"])
    return Bottleneck(BITS, (rtt, rtt), round(mbps(BITS / 1e6) * rtt / 2), LOSS)


def of_small_product(setting: Mapping[str, Value]) -> Bottleneck:
    """Return the link of the slide on a small bandwidth-delay product."""
    return Bottleneck(30e6, (0.018, 0.018), int(setting["small_buffer"]))


def of_long_path(setting: Mapping[str, Value], rtt: float) -> Bottleneck:
    """Return the link of the slide on round-trip times, of 20 ms and a longer one."""
    return Bottleneck(BITS, (0.02, rtt), int(setting["line_buffer"]))


def throughputs(
    setting: Mapping[str, Value], pair: tuple[str, str], link: Bottleneck, seed: int
) -> tuple[float, float]:
    """Return the goodput of both flows of a pair in Mb/s of the link, at one setting.

    Parameters
    ----------
    setting
        A value for each of `designs.KANEKO2007`; ``payload`` is not used.
    pair
        Two of `NAMES`; the first one starts first.
    link
        What they share.
    seed
        Of the random losses and of the times before packets.
    """
    rate, shortest = mbps(link.bits / 1e6), min(link.rtts)
    rules = rules_of(setting)
    starts = (0.1, 0.1 + float(setting["later"]))
    begin = starts[1] + float(setting["warm"])
    end = begin + float(setting["measured"])
    ending = max(10.0, float(setting["slow_start"]) * rate * shortest / 2)
    links = [Link("left", "right", rate, shortest / 4, link.buffer)]
    flows = []
    for n, (name, rtt, start) in enumerate(zip(pair, link.rtts, starts, strict=True)):
        rest = (rtt / 2 - shortest / 4) / 2
        links += [Link(*ends, FAST * rate, rest, 1e6) for ends in ((f"s{n}", "left"), ("right", f"d{n}"))]
        path = (f"s{n}", "left", "right", f"d{n}")
        late = bool(int(setting["delayed"]))
        rule = _ending(rules[name], ending)
        flows.append(Flow(f"{n}", path, rule, SOCKET * 8 / PACKET, start, delayed_acks=late))
    scenario = Scenario("pair", tuple(links), tuple(flows), duration=end)
    repair: Any = setting["recovery"]
    method = Packets(recovery=repair, loss={"left->right": link.loss} if link.loss else None)
    sample = (end - begin) / SAMPLES
    run = simulate(scenario, method, packet_jitter=1.0 / rate, seed=seed, sample=sample)
    first = run.time.searchsorted(begin)
    span = float(run.time[-1] - run.time[first])
    one, other = (PACKET * float(flow[-1] - flow[first]) / span / 1e6 for flow in run.delivered)
    return one, other


def experiments(setting: Mapping[str, Value]) -> Iterator[tuple[str, tuple[str, str], Bottleneck]]:
    """Yield name, pair and link of each experiment: the slides of pairs, small BDP, round-trip times."""
    for pair in PAIRS:
        yield "pairs", pair, of_pairs(setting)
    for name in NAMES[1:]:
        yield "small", (name, "Reno"), of_small_product(setting)
    for rtt in LONG_RTTS:
        for name in NAMES:
            yield f"rtt {1e3 * rtt:g} ms", (name, name), of_long_path(setting, rtt)


def lines(words: Mapping[str, Value]) -> Iterator[str]:
    """Yield the experiment, both rules and both goodputs in Mb/s, separated by commas."""
    for n, (name, pair, link) in enumerate(experiments(words)):
        one, other = throughputs(words, pair, link, seed=100 * int(words["seed"]) + n)
        yield f"{name},{pair[0]},{pair[1]},{one:.4f},{other:.4f}"


if __name__ == "__main__":
    keys, values = sys.argv[1::2], sys.argv[2::2]
    sys.stdout.write("\n".join(lines(dict(zip(keys, values, strict=True)))) + "\n")
