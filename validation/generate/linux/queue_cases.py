"""Runs of Linux 6.12 through the queue disciplines of its own kernel: three sets of flows over a seen path and three drawn ones.

A discipline stands below a shaper in a namespace that forwards, as in a router (README.md). All flows send packets of 1500 bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from validation.generate.cases import Case
from validation.generate.linux.output import QUEUE_TABLES, calls, read, simulated_seconds
from validation.generate.linux.program import LinuxKernel
from validation.networks.queue_measures import PACKET, PATHS, PREFIX, SECONDS, SINCE, thresholds

MESSAGE = (1448, 0.05)
"""bytes and s: a sparse flow, whose packets find the queue as it is."""
FLOWS: dict[str, dict[str, Any]] = {
    "one": {"rules": ("cubic", "reno"), "starts": (0.0, 0.1), "messages": {1: MESSAGE}},
    "mixed": {
        "rules": ("cubic", "reno", "cubic", "reno"),
        "starts": (0.0, 0.1, 0.2, 0.3),
        "messages": {3: MESSAGE},
        "far": 2,
    },
    "seven": {
        "rules": ("reno",) * 8,
        "starts": tuple(round(0.1 * n, 1) for n in range(8)),
        "messages": {7: MESSAGE},
    },
}
"""Unlimited flows, and a sparse one last. ``far``: a flow with twice the round trip."""
EXPECTED = "The drawn paths guided no choice; what was expected was written down before their runs."
MARKED: dict[str, dict[str, Any]] = {
    "one": {"rules": ("dctcp",), "starts": (0.0,)},
    "four": {"rules": ("dctcp",) * 4, "starts": (0.0, 0.1, 0.2, 0.3)},
}
"""DCTCP's flows. A step drops what it cannot mark, so that none is without ECN."""


def _drop_tail(queue: dict[str, int]) -> str:
    return f"pfifo:limit={queue['buffer']}"


def _early_marking(queue: dict[str, int]) -> str:
    low, high = (PACKET * queue[name] for name in ("low", "high"))
    return f"red:limit=1500000,min={low},max={high},wlog=9,probability=0.1,ecn=1"


def _step(queue: dict[str, int]) -> str:
    at = PACKET * queue["step"]
    return f"red:limit=1500000,min={at},max={at + 1},wlog=0,probability=1,ecn=1"


def _early_dropping(queue: dict[str, int]) -> str:
    return f"{_early_marking(queue)},harddrop=1"


@dataclass(frozen=True)
class Queue:
    """A discipline of the kernel: its words by thresholds, the title, the sets of flows, and whether they use ECN.

    Without options it has the kernel's defaults. ``note``: what is said of its runs besides.
    """

    words: Callable[[dict[str, int]], str]
    title: str
    flows: Mapping[str, Mapping[str, Any]]
    ecn: bool = False
    note: str = EXPECTED
    paths: tuple[str, ...] = ("seen", "drawn-1", "drawn-2", "drawn-3")


DISCIPLINES = {
    "pfifo": Queue(_drop_tail, "drop-tail, two products of rate and round trip", FLOWS),
    "codel": Queue(lambda _: "codel", "CoDel", FLOWS),
    "pie": Queue(lambda _: "pie", "PIE", FLOWS),
    "red": Queue(_early_marking, "RED that marks, thresholds of 5 and 15 ms", FLOWS, ecn=True),
    "fq-codel": Queue(lambda _: "fq_codel", "FQ-CoDel", FLOWS, ecn=True),
    "fq-codel-fresh": Queue(
        lambda _: "fq_codel",
        "FQ-CoDel over a further path",
        FLOWS,
        ecn=True,
        note="Made after hopflow's FQ-CoDel had been changed; what was expected of it stood since before.",
        paths=("fresh",),
    ),
    "step": Queue(
        _step, "RED without an average that marks from a step on, and DCTCP", MARKED, ecn=True
    ),
    "red-harddrop": Queue(
        _early_dropping,
        "RED that marks up to its upper threshold, 5 and 15 ms",
        {"seven": FLOWS["seven"]},
        ecn=True,
        note="Made after the runs without harddrop, which mark above the upper threshold.",
    ),
}
"""The disciplines by their names in those of the cases."""


def _runs(queue: Queue) -> list[dict[str, Any]]:
    """Return the runs of a discipline."""
    runs = list[dict[str, Any]]()
    for path in queue.paths:
        rate, delay = PATHS[path]
        for flows, own in queue.flows.items():
            given = {key: value for key, value in own.items() if key != "far"}
            extras = {"extras": {own["far"]: 2.0 * delay}} if "far" in own else {}
            marks = {"ecn": 1} if queue.ecn else {}
            runs.append(
                {
                    "run": f"{flows}-{path}",
                    "rate": rate,
                    "delay": delay,
                    "seconds": SECONDS,
                    "sample": 0.1,
                    "since": SINCE,
                    "discipline": queue.words(thresholds(rate, delay)),
                    **marks,
                    **given,
                    **extras,
                }
            )
    return runs


CASES = tuple(
    Case(
        name=f"{PREFIX}{name}",
        title=f"Flows of Linux 6.12 through the kernel's queue: {queue.title}, {SECONDS} s",
        claims=(),
        program=LinuxKernel(queues=True),
        parameters={
            "size of the packets": (PACKET, "bytes"),
            "data in each": (1448, "bytes"),
            "bucket of the shaper": (1600, "bytes"),
            "sample": (0.1, "s"),
            "beginning of the measurement of delays": (SINCE, "s"),
            "tick of the kernel (HZ 250)": (0.004, "s"),
        },
        tables=QUEUE_TABLES,
        runs=_runs(queue),
        calls=calls,
        read=read,
        simulated_seconds=simulated_seconds,
        notes=(
            "The queue is the kernel's, in a namespace that forwards, below a token bucket of the rate of the path.",
            "The shaper takes a packet out of the queue when the one before it leaves: CoDel and PIE measure delays one transmission early.",
            "No segmentation offload on the wire, SACK, timestamps; ECN with RED and FQ-CoDel.",
            queue.note,
        ),
    )
    for name, queue in DISCIPLINES.items()
)
