"""Runs of Linux 6.12 over 20 Mb/s and 40 ms: one flow of a rule, alone or under losses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from validation.generate.cases import Case, Run
from validation.generate.linux.output import TABLES, calls, read, simulated_seconds
from validation.generate.linux.program import HostKernel, LinuxKernel

FIRST_EMULATOR, EMULATOR = (
    ("validation/generate/linux/linkemu.c", sha256)
    for sha256 in (
        "9f493c8d12cff1457022a501b93125cd1c2dcb461b5331ab84bd74aa133bb157",
        "006fda3079e850bcb0f0b47c026e48f7647bf29f7fb8de4c652bbfaf1dbccaa8",
    )
)
"""Before it had options for segments and ACKs, and before it had those for the kernel's queues. The present one makes equal rows (README.md)."""
FIRST_BUILD, BUILD = (
    ("validation/generate/linux/build.sh", sha256)
    for sha256 in (
        "d6ea998d2a947c51c5632e1d5943b5b99c0666a9163ef727a3c14a80aee43fb3",
        "d0096a3ab65f011493f85d16949f753648c7323f494818694c5a6df1e54f17ae",
    )
)
"""Before kernels were built that run on hosts with AMX, with the same digest, and before the emulator had the kernel's queues."""
WITHOUT_QUEUES = LinuxKernel(earlier=(EMULATOR, BUILD))
FIRST_PAIRS = (("cubic", "reno"), ("vegas", "reno"))
RATE, DELAY = 20e6, 0.02
"""bit/s and s of both directions: 1666.7 packets of 1500 bytes per s, a round trip of 40 ms."""
BUFFERS = (33, 67, 133)
"""Packets: half the product of bandwidth and round trip, all of it, and twice as much."""
SINGLE = ("bic", "highspeed", "htcp", "westwood", "vegas", "illinois", "scalable")
REMAINING = ("cdg", "hybla", "lp", "nv", "veno", "yeah")
"""The kernel's other congestion controls, except DCTCP, which needs marks."""
PAIRS = (
    ("cubic", "reno"),
    ("vegas", "reno"),
    ("cubic", "bbr"),
    ("htcp", "reno"),
    ("illinois", "reno"),
)
STARTS = tuple(round(0.1 * n, 1) for n in range(1, 9))
"""s at which the second flow of a pair starts; the first one starts at 0."""
BEFORE = "The path was drawn at random; what was expected of the packet level was written down before the runs."
AFTER = "Made after the comparison with the runs on the drawn path, to find out what its miss depends on."
TICK = "tick of the kernel (HZ 250)"
FURTHER_STARTS = tuple(round(0.05 * n + 0.025, 3) for n in range(1, 17))
DRAWN = (
    *((24.4e6, 0.017, 77), (15.4e6, 0.026, 127), (11.6e6, 0.019, 44), (11.7e6, 0.0135, 40)),
    *((15.5e6, 0.0275, 37), (43.6e6, 0.016, 113)),
)
"""Paths drawn at random: bit/s and s of both directions, packets.

With ``random.Random(50)``, the last two with ``random.Random(51)``, logarithmically uniform: the rate of 10 to 60 Mb/s, the round trip of 20 to 150 ms, the buffer of
0.4 to 2 products of both, in this order for each path; rounded to 0.1 Mb/s, ms and packets.
"""


def _alone(rule: str, buffer: int, **options: Any) -> dict[str, Any]:
    """Return a run of one flow."""
    run = {"run": f"{rule}-{buffer}", "rules": (rule,), "starts": (0.0,), "seconds": 30}
    return {"rate": RATE, "delay": DELAY, "buffer": buffer, **run, **options}


ALONE = Case(
    name="linux/alone",
    title="One flow of Linux 6.12 over 20 Mb/s, 40 ms, with a drop-tail buffer, 30 s",
    claims=(),
    program=LinuxKernel(earlier=(FIRST_EMULATOR, FIRST_BUILD)),
    parameters={
        "rate of the link, and of the link back": (RATE, "bit/s"),
        "delay of each": (DELAY, "s"),
        "size of the packets": (1500, "bytes"),
        "data in each": (1448, "bytes"),
        "sample": (0.01, "s"),
        TICK: (0.004, "s"),
    },
    tables=TABLES,
    runs=[
        *(_alone(rule, buffer) for rule in ("reno", "cubic") for buffer in BUFFERS),
        _alone("bbr", 67),
    ],
    calls=calls,
    read=read,
    simulated_seconds=simulated_seconds,
    notes=(
        "The link's departures follow from the arrival times: max(arrival, previous departure) + bits/rate.",
        "No pacing but BBR's (pfifo_fast), no segmentation offload on the wire, SACK, timestamps, no ECN.",
        "In every run rwnd_limited and sndbuf_limited are 0: the window of the sender alone limited it.",
        "The kernel's entropy is constant: runs are equal byte for byte.",
    ),
)


def _random_loss(name: str, seeds: range, *notes: str) -> Case:
    """Return runs of Reno and of CUBIC under random losses."""
    return replace(
        ALONE,
        name=name,
        title=f"One flow of Linux 6.12 that loses one data packet in 1000, {len(seeds)} seeds, 30 s",
        parameters={**ALONE.parameters, "sample": (0.1, "s")},
        runs=[
            _alone(rule, 67, run=f"{rule}-{seed}", loss=0.001, seed=seed, sample=0.1)
            for rule in ("reno", "cubic")
            for seed in seeds
        ],
        notes=(*ALONE.notes, *notes),
    )


def _further_path(name: str, path: str, buffer: int, delay: float) -> Case:
    """Return runs of Reno and of the seven further rules alone over a path on which no choice was made."""
    return replace(
        ALONE,
        name=name,
        title=f"One flow of eight rules of Linux 6.12, buffer of {buffer} packets, round trip of {2e3 * delay:g} ms, 30 s",
        parameters={**ALONE.parameters, "delay of each": (delay, "s")},
        runs=[
            _alone(rule, buffer, run=f"{rule}-{path}", delay=delay) for rule in ("reno", *SINGLE)
        ],
    )


def _on_drawn_path(
    number: int, rules: Sequence[str] = ("reno", "cubic", "bbr", *SINGLE), **options: Any
) -> Case:
    """Return runs of rules alone over a path of `DRAWN`, by its number from 1 on; ``options``: of single packets."""
    rate, delay, buffer = DRAWN[number - 1]
    path = {"rate": rate, "delay": delay, "seconds": 60}
    return replace(
        ALONE,
        program=WITHOUT_QUEUES,
        name=f"linux/drawn-path-{number}" + ("-single-packets" if options else ""),
        title=f"One flow of {'ten rules' if len(rules) > 1 else rules[0]} of Linux 6.12 over {rate / 1e6:g} Mb/s, {2e3 * delay:g} ms, a buffer of {buffer} packets{', segments of one packet' if options else ''}, 60 s",
        parameters=_parameters(rate, delay),
        runs=[
            _alone(rule, buffer, run=f"{rule}-drawn-{number}", **path, **options) for rule in rules
        ],
        notes=(*ALONE.notes, AFTER if options else BEFORE),
    )  # fmt: skip


def _parameters(rate: float, delay: float, sample: float = 0.01) -> dict[str, tuple[object, str]]:
    """Return the parameters of a case over another path."""
    changed = {
        "rate of the link, and of the link back": (rate, "bit/s"),
        "delay of each": (delay, "s"),
        "sample": (sample, "s"),
    }
    return {**ALONE.parameters, **changed}


def _pair_on_drawn_path(first: str, second: str, number: int) -> Case:
    """Return runs of two flows over a path of `DRAWN`, the second of which starts at eight times."""
    rate, delay, buffer = DRAWN[number - 1]
    on = _pair(first, second, f"-drawn-path-{number}", f" over {rate / 1e6:g} Mb/s, {2e3 * delay:g} ms", rate=rate, delay=delay, buffer=buffer)  # fmt: skip
    return replace(on, parameters=_parameters(rate, delay, 0.1))


def _losses_on_drawn_path(number: int) -> Case:
    """Return runs of Reno and of CUBIC under random losses over a path of `DRAWN`."""
    rate, delay, buffer = DRAWN[number - 1]
    one = _random_loss(f"linux/random-loss-drawn-path-{number}", range(101, 121))
    runs = [{**run, "rate": rate, "delay": delay, "buffer": buffer} for run in one.runs]
    return replace(
        one, program=WITHOUT_QUEUES, parameters=_parameters(rate, delay, 0.1), runs=runs
    )  # fmt: skip


def _pair(first: str, second: str, suffix: str = "", title: str = "", **options: Any) -> Case:
    """Return runs of two flows, the second of which starts later, at eight times or ``starts``."""
    starts = options.pop("starts", STARTS)
    build = FIRST_BUILD if (first, second) in FIRST_PAIRS else BUILD
    earlier = (EMULATOR, BUILD) if suffix else (FIRST_EMULATOR, build)
    return replace(
        ALONE,
        program=LinuxKernel(earlier=earlier),
        name=f"linux/{first}-and-{second}{suffix}",
        title=f"A flow of {first} and one of {second} of Linux 6.12{title}, second starts at {'eight' if len(starts) == len(STARTS) else len(starts)} times, 60 s",
        parameters={**ALONE.parameters, "sample": (0.1, "s")},
        runs=[
            {
                **_alone(first, 67, sample=0.1, seconds=60),
                **options,
                "run": f"start-{start}",
                "rules": (first, second),
                "starts": (0.0, start),
            }
            for start in starts
        ],
    )


def _in_real_time(name: str, title: str, one: Case, runs: Sequence[Run]) -> Case:
    """Return runs of the host's kernel in real time, as those of a case in virtual time."""
    notes = (
        *ALONE.notes[:3],
        "The host's kernel and clock: runs are not repeated to the packet. lateness is that of its processes.",
        "A run in which a packet was late by more than 20 ms is refused, and made again.",
    )
    return replace(
        one,
        name=f"linux/{name}",
        title=title.replace("Linux 6.12", "the Linux of the host"),
        program=HostKernel(earlier=(EMULATOR,)),
        parameters={key: value for key, value in one.parameters.items() if key != TICK},
        runs=runs,
        notes=notes,
    )


REPEATED = (1, 2, 3)
"""Numbers of the runs in real time."""
CUBIC_AND_RENO = _pair("cubic", "reno")
CASES = (
    _in_real_time(
        "real-time",
        "One flow of Linux 6.12 over 20 Mb/s, 40 ms, a buffer of 67 packets, in real time, 30 s, three times",
        ALONE,
        [
            _alone(rule, 67, run=f"{rule}-67-{number}")
            for rule in ("reno", "cubic", "bbr")
            for number in REPEATED
        ],
    ),
    _in_real_time(
        "real-time-cubic-and-reno",
        f"{CUBIC_AND_RENO.title}, in real time",
        CUBIC_AND_RENO,
        CUBIC_AND_RENO.runs,
    ),
    ALONE,
    replace(
        ALONE,
        name="linux/other-rules",
        title="One flow of seven further rules of Linux 6.12, with a buffer of 67 packets, 30 s",
        runs=[_alone(rule, 67) for rule in SINGLE],
    ),
    replace(
        ALONE,
        program=WITHOUT_QUEUES,
        name="linux/remaining-rules",
        title="One flow of the six remaining rules of Linux 6.12, with buffers of 67 and 133 packets, 30 s",
        runs=[_alone(rule, buffer) for rule in REMAINING for buffer in (67, 133)],
    ),
    replace(
        ALONE,
        name="linux/periodic-loss",
        title="One Reno flow of Linux 6.12 that loses every 200th data packet, 30 s",
        runs=[_alone("reno", 67, run="reno-every-200", every=200)],
    ),
    _random_loss("linux/random-loss", range(1, 9)),
    _random_loss(
        "linux/random-loss-further-seeds",
        range(9, 25),
        "Made after the comparison with the first 8 seeds, whose losses were 9 % fewer than one in 1000.",
    ),
    _further_path("linux/further-buffer", "100", 100, DELAY),
    _further_path("linux/further-round-trip", "80ms", 67, 0.04),
    *(_pair(*rules) for rules in PAIRS),
    _pair("cubic", "reno", "-single-packets", ", segments of one packet", min_tso_segs=1),
    _pair(
        "cubic",
        "reno",
        "-each-acknowledged",
        ", segments of one packet, an ACK for each",
        min_tso_segs=1,
        quickack=1,
    ),
    *(_on_drawn_path(number) for number in range(1, len(DRAWN) + 1)),
    *(_pair_on_drawn_path(rule, "reno", 1) for rule in ("cubic", "illinois")),
    _pair_on_drawn_path("cubic", "reno", 5),
    _losses_on_drawn_path(3),
    _pair("illinois", "reno", "-further-starts", "", starts=FURTHER_STARTS),
    *(
        _on_drawn_path(number, (rule,), min_tso_segs=1)
        for number, rule in ((2, "highspeed"), (3, "scalable"), (4, "highspeed"))
    ),
    _pair("illinois", "reno", "-single-packets", ", segments of one packet", min_tso_segs=1),
)
