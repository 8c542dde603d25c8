"""malhotra2005, Sects. IV and V, in ns-3: TCP over two bridges with 802.3x pause on and off.

``ns3/pause-tcp.cc`` sends eight flows (or another number) from one host over link A, bridge 1 with
queue 1, link B, bridge 2 with queue 2 and link C. A run is one seed of a case: it calls the program
once per parameter set, so that rows of equal seed have the same starts of the flows, pause on or off.
Where losses come in long patterns, at an RTT of 5 s and more, parameter sets have more seeds than
ten; two cases have so many at 10 and 20 s that the half-width of a gain falls below one point.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from validation.generate.cases import Calls, Case, Column, Rows, Run, Table
from validation.generate.programs import Ns3, flags

PROGRAM = Ns3(
    "pause-tcp",
    ("core", "network", "point-to-point", "internet"),
    ("pause-port.h", "reno-agent.h", "flow-plan.h"),
)
SEEDS = 10
"""At least."""
OFF = 20
SEGMENT = 1434
"""Payload of a full packet in bytes."""

FACTORS: Mapping[str, tuple[str, float | str, Column]] = {
    "tcp": (
        "tcp",
        "reno",
        Column(
            "",
            "reno: RFC 5681, an agent of ours; newreno, linuxreno: ns-3's congestion controls in its "
            "own stack",
        ),
    ),
    "traffic": (
        "traffic",
        "think",
        Column(
            "",
            "think: the next file follows the last ACK after the interval; clock: a file per "
            "interval; endless: data without bound",
        ),
    ),
    "file_size": ("file-bytes", 80_000, Column("byte", "data of a file")),
    "interval": ("interval", 1.0, Column("s", "think time, or period of the clock")),
    "flows": ("flows", 8, Column("1", "number of flows")),
    "link_a": ("link-a", 25.0, Column("packets/s", "rate of link A, full packets")),
    "rtt": ("rtt", 1.0, Column("s", "propagation to and fro, all of it on link A")),
    "high_threshold": ("high", 15, Column("packets", "T1; 20 = B2 switches the pause off")),
    "low_threshold": ("low", 15, Column("packets", "T2")),
    "signal_delay": (
        "signal-delay",
        0.00056,
        Column("s", "from the crossing of a threshold to the effect at queue 1"),
    ),
    "pause_quanta": (
        "quanta",
        0,
        Column(
            "1", "pause time of a message in 512 bit times of link B (0.427 ms); 0: ON/OFF messages"
        ),
    ),
    "window": ("window", 44, Column("packets", "largest window (64 KB without window scaling)")),
    "initial_window": ("initial-window", 2, Column("packets", "first window of a connection")),
    "minimum_rto": ("minimum-rto", 0.2, Column("s", "least retransmission timeout")),
    "think_times": ("exponential", 0, Column("1", "0: constant, 1: exponential")),
    "starts": (
        "starts",
        0,
        Column("s", "the flows begin within it; 0: the longest of interval, RTT and 1 s"),
    ),
    "connections": ("fresh", 0, Column("1", "0: one connection per flow, 1: one per file")),
    "host_buffer": ("host-buffer", 0, Column("packets", "room before link A; 0: no limit")),
    "recovery": (
        "recovery",
        "classic",
        Column("", "fast recovery of ns-3's stack, classic or prr"),
    ),
    "sack": ("sack", 1, Column("1", "selective ACKs of ns-3's stack, 0 or 1")),
}
LABELS = {
    "pause": Column("", "on or off (T1 = B2 = 20)"),
    "reading": Column("", "what differs from the default"),
    "seed": Column(
        "", "run number of ns-3's random streams; the same starts with pause on and off"
    ),
}

PACKETS = "packets/s"
VALUES = {
    "measured_time": Column("s", "simulated time after the warm-up; rates and means refer to it"),
    "goodput": Column(PACKETS, "unique data in order at the receivers, in segments of 1434 bytes"),
    "goodput_least": Column(PACKETS, "goodput of the flow that got least"),
    "goodput_most": Column(PACKETS, "goodput of the flow that got most"),
    "retransmission_rate": Column(PACKETS, "segments that TCP sent again"),
    "loss_rate_1": Column(PACKETS, "packets that found queue 1 full"),
    "loss_rate_2": Column(PACKETS, "packets that found queue 2 full"),
    "timeout_rate": Column("1/s", "expirations of retransmission timers, all flows"),
    "pause_message_rate": Column("1/s", "messages from bridge 2 to bridge 1 (OFF, ON, repeated)"),
    "pause_fraction": Column("1", "fraction of the time in which queue 1 may not start a packet"),
    "mean_queue_host": Column("packets", "time average before link A"),
    "mean_queue_1": Column("packets", "time average of queue 1, packet in transmission included"),
    "mean_queue_2": Column("packets", "time average of queue 2, packet in transmission included"),
    "mean_rtt": Column(
        "s",
        "reno: mean of the sampled RTTs, one segment per round trip; ns-3's stack: mean over ACKs of "
        "the smoothed RTT",
    ),
    "mean_file_time": Column(
        "s", "from the first byte to the last ACK of a file; empty without any"
    ),
}
COUNTS = {
    "data": ("m_bytes", "byte", "unique data in order at the receivers"),
    "segments": ("m_segments", "packets", "data segments that TCP sent"),
    "retransmissions": ("m_retransmissions", "packets", "those of them that TCP sent again"),
    "fast_recoveries": ("m_recoveries", "1", "fast retransmissions that cut the window"),
    "timeouts": ("m_timeouts", "1", "expirations of retransmission timers"),
    "files": ("m_files", "1", "files that were acknowledged completely"),
    "pauses": ("m_pauses", "1", "times that queue 2 went above T1"),
    "pause_messages": ("m_messages", "1", "messages from bridge 2 to bridge 1"),
    "arrivals_1": ("", "packets", "packets that came to queue 1"),
    "dropped_1": ("m_dropped_1", "packets", "packets that found queue 1 full"),
    "arrivals_2": ("", "packets", "packets that came to queue 2"),
    "dropped_2": ("m_dropped_2", "packets", "packets that found queue 2 full"),
}
WHOLE = {
    "total_host_offered": ("", "packets that the sending host offered to link A's queue"),
    "total_host_dropped": ("dropped_host", "those that found it full"),
    "total_host_sent": ("sent_host", "packets that left on link A"),
    "total_host_left": ("left_host", "packets in the host's queue at the end"),
    "total_on_link_a": ("on_link_a", "packets in propagation at the end"),
    "total_accepted_1": ("accepted_1", "packets that queue 1 accepted"),
    "total_dropped_1": ("dropped_1", "packets that found queue 1 full"),
    "total_sent_1": ("sent_1", "packets that queue 1 transmitted"),
    "total_left_1": ("left_1", "packets in queue 1 at the end"),
    "total_accepted_2": ("accepted_2", "packets that queue 2 accepted"),
    "total_dropped_2": ("dropped_2", "packets that found queue 2 full"),
    "total_sent_2": ("sent_2", "packets that queue 2 transmitted"),
    "total_left_2": ("left_2", "packets in queue 2 at the end"),
    "total_received": ("received", "packets at the receiving host"),
}

NOTES = (
    (
        "Topology: host - link A (25 packets/s) - bridge 1 - link B (100) - bridge 2 - link C (15) - "
        "host; queue 1 of 10 packets before link B, queue 2 of 20 before link C, both with the packet "
        "in transmission. The propagation delay is on link A, RTT/2 each way, as the text's 'delay on "
        "link A' suggests; the RTT without queues is larger by the transmission times (0.117 s at "
        "link A = 25). The host's queue has no limit, nor have the queues of the ACKs."
    ),
    (
        "A full packet has 1500 bytes on the wire, so that 1200 kb/s are 100 packets/s: preamble and "
        "delimiter 8, addresses and type 14, check sequence 4, IPv4 20, TCP 20, data 1434. The gap "
        "between frames is not counted (the paper's 1526 bytes are 1500 and the same 26). An ACK has "
        "72 bytes (the least frame and the preamble). Learning bridges with two ports forward all. "
        "KB = 1000 bytes: a file of 80 KB has 56 segments, one of 80 kbit 7, the last one shorter."
    ),
    (
        "tcp = reno: agents of ours that count segments, after RFC 5681, 3042 and 6298, with what "
        "ns-2's TCP stack (the paper's) does by default: initial window 2, an ACK per packet, least "
        "timeout 0.2 s, no handshake; the first timeout is 3 s + 2 RTT. ns-3 has no Reno. With pause "
        "off its goodput was compared with that of ns-2's Agent/TCP/Reno (5 seeds): within 1 % at RTT "
        "1 s, within 7 % from 0.1 to 10 s."
    ),
    (
        "ns-3.44's TCP without SACK is not Reno: after a duplicate ACK every new ACK retransmits the "
        "head of the window, lost or not, and a quarter of link C carries copies. Its rows with sack "
        "= 1 (RFC 6675) are sound."
    ),
    (
        "Files: think (default) hands over the next file one second after the last ACK of the one "
        "before; clock hands one over per second, done or not. A flow keeps its connection and its "
        "window through the pause between files; the reading 'connection per file' starts again. "
        "Flows start at random within one RTT (at least the interval and 1 s), the only randomness "
        "unless think times are exponential. Started within 1 s, 8 endless flows at RTT 20 s stay "
        "together and all seeds give one goodput to four digits: a spread that says nothing."
    ),
    (
        "Pause: an arrival that takes queue 2 from T1 to T1 + 1 sends OFF, a departure from T2 to T2 - "
        "1 sends ON; a message takes effect after signal_delay (default: 84 bytes at the rate of link "
        "B), takes no capacity, and lets queue 1 finish its packet. Timed: the message holds queue 1 "
        "for its quanta and is repeated at half that time until the queue falls below T2; there is "
        "no ON message."
    ),
    (
        "total_host_offered = total_host_dropped + total_host_sent + total_host_left; total_host_sent "
        "= total_on_link_a + total_accepted_1 + total_dropped_1; total_accepted_1 = total_sent_1 + "
        "total_left_1; total_sent_1 = total_accepted_2 + total_dropped_2; total_accepted_2 = "
        "total_sent_2 + total_left_2; total_sent_2 = total_received. Exactly, in every row; whole run "
        "from an empty network; with ns-3's stack handshakes count as packets."
    ),
    (
        "Gains are ratios of goodputs with pause on and off at equal seed; a seed is one sample, for "
        "few flows and long RTTs settle into patterns of losses that last for many RTTs. Ten seeds "
        "give the gain a half-width (95 %) of 0.1 to 0.8 percentage points up to RTT 2 s; there are "
        "more seeds (parameter seeds) from 5 s on, where one seed scatters by 2 to 15 points, for "
        "few endless flows, a connection per file, and ns-3's stack at RTT 0.1 s. Flows "
        "of equal RTT and constant think time act together: at RTT 5 s the gain depends strongly on "
        "link A, less so with exponential think times (tcp-random-think)."
    ),
)


def duration(rtt: float) -> float:
    """Measured time in s, longer where an epoch between losses is longer."""
    return 1000.0 if rtt <= 2 else 4000.0 if rtt <= 5 else 6000.0 if rtt <= 10 else 10_000.0


def _warmup(rtt: float) -> float:
    return 100.0 + 20.0 * rtt


def calls(run: Run) -> Calls:
    """Return the options of ``pause-tcp.cc`` for every parameter set."""
    return [_words(point, run["seed"]) for point in run["points"]]


def _words(point: Mapping[str, Any], seed: int) -> list[str]:
    options = {
        option: point[name] for name, (option, default, _) in FACTORS.items() if name in point
    }
    options.setdefault("low", options.get("high", 15))
    rtt = float(point.get("rtt", 1.0))
    options |= {"warmup": f"{_warmup(rtt):g}", "duration": f"{duration(rtt):g}", "seed": seed}
    return flags(options)


def simulated_seconds(run: Run) -> float:
    """Add up warm-ups and measured times of the calls of one seed."""
    rtts = [float(point.get("rtt", 1.0)) for point in run["points"]]
    return sum(duration(rtt) + _warmup(rtt) for rtt in rtts)


def read(run: Run, folder: Path, printed: Sequence[str]) -> dict[str, Rows]:  # noqa: ARG001
    """Return a row for each parameter set of a seed."""
    rows = []
    for point, text in zip(run["points"], printed, strict=True):
        said = {name: float(value) for name, value in map(str.split, text.splitlines())}
        rows.append({**_factors(point), "seed": run["seed"], **_values(point, said)})
    return {"measures": rows}


def _factors(point: Mapping[str, Any]) -> dict[str, float | str]:
    high = point.get("high_threshold", 15)
    row: dict[str, float | str] = {
        name: point.get(name, default) for name, (_, default, _) in FACTORS.items()
    }
    row["low_threshold"] = point.get("low_threshold", high)
    row["pause"] = "off" if high == OFF else "on"
    row["reading"] = point.get("reading", "default")
    return row


def _values(point: Mapping[str, Any], said: Mapping[str, float]) -> dict[str, float | int | None]:
    seconds = duration(float(point.get("rtt", 1.0)))
    if said["failed"] > 0:
        msg = f"{said['failed']:g} connections failed at {point}"
        raise RuntimeError(msg)
    row: dict[str, float | int | None] = {
        "measured_time": seconds,
        "goodput": said["m_bytes"] / SEGMENT / seconds,
        "goodput_least": said["m_bytes_least"] / SEGMENT / seconds,
        "goodput_most": said["m_bytes_most"] / SEGMENT / seconds,
        "retransmission_rate": said["m_retransmissions"] / seconds,
        "loss_rate_1": said["m_dropped_1"] / seconds,
        "loss_rate_2": said["m_dropped_2"] / seconds,
        "timeout_rate": said["m_timeouts"] / seconds,
        "pause_message_rate": said["m_messages"] / seconds,
        "pause_fraction": said["m_held"] / seconds,
        "mean_queue_host": said["m_area_host"] / seconds,
        "mean_queue_1": said["m_area_1"] / seconds,
        "mean_queue_2": said["m_area_2"] / seconds,
        "mean_rtt": said["m_rtt"],
        "mean_file_time": said["m_file_time"] / said["m_files"] if said["m_files"] else None,
    }
    row |= {name: int(said[key]) for name, (key, _, _) in COUNTS.items() if key}
    for queue in ("1", "2"):
        arrivals = said[f"m_accepted_{queue}"] + said[f"m_dropped_{queue}"]
        row[f"arrivals_{queue}"] = int(arrivals)
    row |= {name: int(said[key]) for name, (key, _) in WHOLE.items() if key}
    row["total_host_offered"] = int(said["accepted_host"] + said["dropped_host"])
    return row


def _table(index: Iterable[str]) -> Table:
    names = {**{name: column for name, (_, _, column) in FACTORS.items()}, **LABELS}
    return Table(
        index={name: names[name] for name in (*index, "seed")},
        values={
            **VALUES,
            **{name: Column(unit, text) for name, (_, unit, text) in COUNTS.items()},
            **{
                name: Column("packets", f"{text}; whole run, warm-up included")
                for name, (_, text) in WHOLE.items()
            },
        },
    )


def _case(
    name: str,
    title: str,
    claims: tuple[str, ...],
    index: tuple[str, ...],
    points: Sequence[Mapping[str, Any]],
    *,
    seeds: Mapping[float, int] = MappingProxyType({}),
) -> Case:
    """Build a case; ``seeds`` by RTT where more than `SEEDS` are wanted."""
    wanted = [max(SEEDS, seeds.get(float(point.get("rtt", 1.0)), 0)) for point in points]
    fixed: dict[str, tuple[float | str, str]] = {}
    for key, (_, default, column) in FACTORS.items():
        if key not in index:
            used = {point.get(key, default) for point in points}
            fixed[key] = (used.pop() if len(used) == 1 else default, column.unit)
    if "low_threshold" not in index:
        fixed["low_threshold"] = ("T1", "packets")
    return Case(
        name=f"malhotra2005/{name}",
        title=title,
        claims=claims,
        program=PROGRAM,
        parameters={
            "buffer_1": (10, "packets"),
            "buffer_2": (20, "packets"),
            "link_b": (100.0, "packets/s"),
            "link_c": (15.0, "packets/s"),
            "packet_size": (1500, "byte"),
            **fixed,
            "measured_time": ("1000; 4000 at RTT 5 s, 6000 at 10 s, 10000 at 20 s", "s"),
            "warmup": ("100 + 20 RTT", "s"),
            "seeds": (
                "; ".join((f"{SEEDS}", *(f"{n} at RTT {rtt:g} s" for rtt, n in seeds.items()))),
                "1",
            ),
        },
        tables={"measures": _table(index)},
        runs=[
            {"seed": k, "points": [p for p, n in zip(points, wanted, strict=True) if k <= n]}
            for k in range(1, max(wanted) + 1)
        ],
        calls=calls,
        read=read,
        simulated_seconds=simulated_seconds,
        notes=NOTES,
    )


def _both(points: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Every parameter set with pause on (T1 = T2 = 15) and off."""
    return [{**point, "high_threshold": high} for point in points for high in (15, OFF)]


RTTS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
READINGS: Mapping[str, Mapping[str, Any]] = {
    "default": {},
    "window 20 packets": {"window": 20},
    "window 10 packets": {"window": 10},
    "initial window 10 packets": {"initial_window": 10},
    "least timeout 1 s": {"minimum_rto": 1.0},
    "exponential think time": {"think_times": 1},
    "connection per file": {"connections": 1},
    "host queue of 20 packets": {"host_buffer": 20},
    "starts within 1 s": {"starts": 1},
}
STACKS: Mapping[str, Mapping[str, Any]] = {
    "ns-3 NewReno with SACK": {"tcp": "newreno"},
    "ns-3 LinuxReno with SACK and PRR": {"tcp": "linuxreno", "recovery": "prr"},
    "ns-3 NewReno without SACK": {"tcp": "newreno", "sack": 0},
}

MANY_SEEDS = {10.0: 600, 20.0: 1100}
"""By RTT: a seed scatters there by 15 percentage points and more."""


def _with_many_seeds(base: Case, rtt: float, seeds: int) -> Case:
    """Return the case of one RTT of another case, with more seeds."""
    points = [point for point in base.runs[0]["points"] if point["rtt"] == rtt]
    return replace(
        base,
        name=f"malhotra2005/tcp-rtt-{rtt:g}-think",
        title=f"TCP Reno over two bridges, one second of think time: RTT {rtt:g} s, {seeds} seeds",
        parameters={**base.parameters, "seeds": (seeds, "1")},
        runs=[{"seed": seed, "points": points} for seed in range(1, seeds + 1)],
    )


CASES: tuple[Case, ...] = (
    _case(
        "tcp-rtt-think",
        "TCP Reno over two bridges, 8 flows of 80 KB with one second of think time: RTT 0.05 to 20 s",
        ("M03", "M10", "M12", "M13", "M15"),
        ("rtt", "pause"),
        _both({"rtt": rtt} for rtt in RTTS),
        seeds={5.0: 100, 10.0: 60, 20.0: 60},
    ),
    _case(
        "tcp-rtt-endless",
        "TCP Reno over two bridges, 8 endless flows: RTT 0.05 to 20 s",
        ("M12", "M14", "M15"),
        ("rtt", "pause"),
        _both({"rtt": rtt, "traffic": "endless"} for rtt in RTTS),
        seeds={10.0: 20, 20.0: 40},
    ),
    _case(
        "tcp-thresholds",
        "TCP Reno over two bridges: T1 = T2 from 2 to B2, think time and endless, RTT 1 and 5 s",
        ("M06", "M11", "M17"),
        ("traffic", "rtt", "high_threshold"),
        [
            {"traffic": traffic, "rtt": rtt, "high_threshold": high}
            for traffic, rtt in (("think", 1.0), ("think", 5.0), ("endless", 1.0))
            for high in (2, 5, 8, 11, 13, 14, 15, 16, 17, 18, 19, OFF)
        ],
        seeds={5.0: 40},
    ),
    _case(
        "tcp-low-threshold",
        "TCP Reno over two bridges: T1 = 15 and T2 from 1 to 15, RTT 1 and 5 s",
        ("M05", "M11", "M17"),
        ("rtt", "high_threshold", "low_threshold"),
        [
            {"rtt": rtt, "high_threshold": high, "low_threshold": low}
            for rtt in (1.0, 5.0)
            for high, low in (*((15, low) for low in (1, 3, 5, 7, 9, 11, 13, 15)), (OFF, OFF))
        ],
        seeds={5.0: 40},
    ),
    _case(
        "tcp-link-a",
        "TCP Reno over two bridges: link A from 15 to 100 packets/s, RTT 0.1, 1 and 5 s",
        ("M03", "M04", "M10", "M13"),
        ("link_a", "rtt", "pause"),
        _both(
            {"link_a": rate, "rtt": rtt}
            for rate in (15.0, 18.0, 20.0, 25.0, 35.0, 50.0, 75.0, 100.0)
            for rtt in (0.1, 1.0, 5.0)
        ),
        seeds={5.0: 20},
    ),
    _case(
        "tcp-small-files",
        "TCP Reno over two bridges, 8 flows of 80 kbit with one second of think time",
        ("M10", "M12"),
        ("rtt", "pause"),
        _both({"rtt": rtt, "file_size": 10_000} for rtt in RTTS),
        seeds={10.0: 20, 20.0: 20},
    ),
    _case(
        "tcp-clock",
        "TCP Reno over two bridges, 8 flows with a file per second at fixed times: 80 KB and 80 kbit",
        ("M10", "M12"),
        ("file_size", "rtt", "pause"),
        _both(
            {"file_size": size, "rtt": rtt, "traffic": "clock"}
            for size in (80_000, 10_000)
            for rtt in (0.1, 1.0, 5.0, 20.0)
        ),
        seeds={20.0: 30},
    ),
    _case(
        "tcp-stacks",
        "ns-3's own TCP over two bridges: three settings, think time and endless, RTT 0.1, 1 and 5 s",
        ("M10", "M12", "M14"),
        ("reading", "traffic", "rtt", "pause"),
        _both(
            {"reading": reading, "traffic": traffic, "rtt": rtt, **changes}
            for reading, changes in STACKS.items()
            for traffic in ("think", "endless")
            for rtt in (0.1, 1.0, 5.0)
        ),
        seeds={0.1: 20},
    ),
    _case(
        "tcp-signalling",
        "TCP Reno over two bridges: delay of the pause messages against T1 = T2, RTT 1 and 5 s",
        ("M16", "M17"),
        ("rtt", "signal_delay", "high_threshold"),
        [
            {"rtt": rtt, "signal_delay": delay, "high_threshold": high}
            for rtt, delays in ((1.0, (0.0, 0.05, 0.1, 0.2, 0.5)), (5.0, (0.0, 0.1, 0.5)))
            for delay, high in (
                *itertools.product(delays, (8, 11, 13, 15, 17, 19)),
                (0.0, OFF),
            )
        ],
        seeds={5.0: 20},
    ),
    _case(
        "tcp-timed-pause",
        "TCP Reno over two bridges: ON/OFF messages against timed pauses of 128 to 8192 quanta",
        ("M17",),
        ("rtt", "high_threshold", "pause_quanta"),
        [
            {"rtt": rtt, "high_threshold": high, "pause_quanta": quanta}
            for rtt in (1.0, 5.0)
            for high, quanta in (
                *((15, quanta) for quanta in (0, 128, 256, 512, 1024, 2048, 4096, 8192)),
                *((11, quanta) for quanta in (0, 128, 512, 2048)),
                (OFF, 0),
            )
        ],
        seeds={5.0: 20},
    ),
    _case(
        "tcp-readings",
        "TCP Reno over two bridges: what the paper leaves open, one at a time, RTT 0.1, 1 and 5 s",
        ("M10",),
        ("reading", "rtt", "pause"),
        _both(
            {"reading": reading, "rtt": rtt, **changes}
            for reading, changes in READINGS.items()
            for rtt in (0.1, 1.0, 5.0)
        ),
        seeds={1.0: 20, 5.0: 20},
    ),
    _case(
        "tcp-random-think",
        "TCP Reno over two bridges with exponential think times: link A and RTT",
        ("M03", "M04", "M10", "M13"),
        ("link_a", "rtt", "pause"),
        _both(
            {"link_a": rate, "rtt": rtt, "think_times": 1}
            for rate, rtts in (
                *((rate, (1.0, 5.0)) for rate in (20.0, 35.0, 50.0)),
                (25.0, (0.1, 1.0, 2.0, 5.0, 10.0, 20.0)),
            )
            for rtt in rtts
        ),
        seeds={5.0: 40, 10.0: 40, 20.0: 40},
    ),
    _case(
        "tcp-flows",
        "TCP Reno over two bridges: 1 to 16 flows, think time and endless, RTT 1 s",
        ("M12", "M15"),
        ("traffic", "flows", "pause"),
        _both(
            {"traffic": traffic, "flows": flows}
            for traffic in ("think", "endless")
            for flows in (1, 2, 4, 8, 16)
        ),
        seeds={1.0: 20},
    ),
)
CASES += tuple(_with_many_seeds(CASES[0], rtt, seeds) for rtt, seeds in MANY_SEEDS.items())
