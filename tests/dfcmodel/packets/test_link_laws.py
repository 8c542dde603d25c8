"""Flow control between the ends of links: credits, laws of users, both engines agree; links that repeat frames."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pytest

import dfcmodel as dfc
from dfcmodel.lossless import link_retry
from responsefn import DCQCN, FixedRate, NewReno
from tests.dfcmodel.packets.random_fabrics import random_fabric
from tests.oracles.engines import equal_records, plan_scenario

RATE = 1e6
QUICK = range(5)
FABRICS = [pytest.param(seed, marks=[] if seed in QUICK else [pytest.mark.slow]) for seed in range(100)]


@dataclass(frozen=True)
class StopAndGo(dfc.LinkLaw):
    """PFC as a law: the receiver stops the sender above a threshold."""

    stop: float = 10.0
    go: float = 5.0

    class Sender(NamedTuple):
        stopped: float = 0.0

    class Receiver(NamedTuple):
        send: float = 0.0
        message: float = 0.0
        stopped: float = 0.0

    def room(self, rate: Any, delay: Any, packet_size: float = 1500.0, buffer: Any = 0.0) -> Any:
        return self.stop + np.ceil((2.0 * delay + self.signalling) * rate) + 4.0

    @staticmethod
    def may_send(s: Any, q: Any, e: Any) -> Any:
        return s.stopped == 0.0

    @staticmethod
    def on_message(s: Any, q: Any, e: Any) -> Any:
        return s._replace(stopped=e.message)

    @staticmethod
    def on_arrival(s: Any, q: Any, e: Any) -> Any:
        stop = 1.0 if e.held > q.stop and s.stopped == 0.0 else 0.0
        return s._replace(send=stop, message=1.0, stopped=s.stopped + stop)

    @staticmethod
    def on_departure(s: Any, q: Any, e: Any) -> Any:
        go = 1.0 if e.held <= q.go and s.stopped == 1.0 else 0.0
        return s._replace(send=go, message=0.0, stopped=s.stopped - go)


def under_law(seed: int) -> dfc.Scenario:
    """Return a random fabric under credits or a law of the user, with other classes beside it in some."""
    given, rng = random_fabric(seed), np.random.default_rng([2046, seed])
    classes = [(0,), (3,), (0, 3)][rng.integers(3)]
    signalling = float(rng.integers(2)) * 5.0 / given.links[0].rate
    buffer = [None, float(rng.integers(1, 6)), float(rng.integers(6, 40))][rng.integers(3)]
    update = 1.0 if buffer is not None and buffer < 5.0 else float(rng.integers(1, 4))
    law: dfc.LinkLaw = dfc.Credits(classes, signalling, None, buffer, update)
    if rng.integers(3) == 0:
        law = StopAndGo(classes, signalling, stop=float(rng.integers(2, 20)), go=2.0)
    marks = rng.integers(3) == 0
    flows = [replace(flow, priority=int(rng.choice([0, 3]))) for flow in given.flows]
    if marks:
        law = replace(law, manager=dfc.RampMarking(2.0, 20.0, 0.5))
        flows = [replace(flow, source=DCQCN(), delayed_acks=False) for flow in flows]
    links = [replace(link, discipline=law) for link in given.links]
    return dfc.Scenario(f"law {seed}", links, flows, given.duration, packet_size=given.packet_size)


@pytest.mark.parametrize("seed", FABRICS)
def test_random_fabrics_lose_nothing_and_are_those_of_the_reference(seed: int) -> None:
    scenario = under_law(seed)
    plan = plan_scenario(scenario, dfc.Packets(seed=1), duration=scenario.duration, sample=scenario.duration / 10)
    records = equal_records(plan)
    law = scenario.links[0].discipline
    assert isinstance(law, dfc.LinkLaw)
    under = np.isin(plan.classes, law.classes) & ~plan.hops.is_ack
    assert records.lost[:-1, plan.hops.row[under]].sum() == 0


@pytest.mark.parametrize("seed", range(6))
def test_lines_are_those_of_the_reference(seed: int) -> None:
    rng = np.random.default_rng([2047, seed])
    rate, hops = 1e6, int(rng.integers(2, 5))
    law = dfc.Credits(buffer=float(rng.integers(1, 8)), signalling=float(rng.integers(3)) / rate)
    links = [
        dfc.Link(n, n + 1, rate * rng.uniform(0.5, 1.5), rng.uniform(0.3, 9.0) / rate, 1e4, law) for n in range(hops)
    ]
    sources = (FixedRate(), NewReno(), dfc.CBR(0.7 * rate))
    flows = [
        dfc.Flow(f"{k}", tuple(range(hops + 1)), source, size=60.0, max_window=40.0) for k, source in enumerate(sources)
    ]
    scenario = dfc.Scenario("line", links, flows, duration=2000.0 / rate)
    plan = plan_scenario(scenario, dfc.Packets(seed=1), duration=2000.0 / rate, sample=200.0 / rate)
    assert equal_records(plan).lost.sum() == 0


def line(law: dfc.LinkLaw, delay: float, packets: int) -> Any:
    """Return the run of packets at line rate over two links; ``delay`` in transmission times."""
    links = dfc.chain(3, rate=RATE, delay=delay / RATE, buffer=1e4, discipline=law)
    flow = dfc.Flow("a", (1, 2, 3), FixedRate(RATE), size=float(packets))
    duration = 20.0 * packets * (1.0 + delay) / RATE
    return dfc.simulate(dfc.Scenario("window", links, [flow], duration=duration), dfc.Packets(seed=1))


@pytest.mark.parametrize("signalling", [0.0, 1.4])
@pytest.mark.parametrize("delay", [0.5, 3.25])
@pytest.mark.parametrize("buffer", [1.0, 2.0, 3.0, 5.0, 8.0, 20.0])
def test_throughput_is_that_of_the_buffer_per_round_trip(buffer: float, delay: float, signalling: float) -> None:
    packets = 300
    run = line(dfc.Credits(buffer=buffer, signalling=signalling / RATE), delay, packets)
    round_trip = 2.0 + 2.0 * delay + signalling
    # packet n leaves when packet n - buffer is free again, a round trip after its start
    full, rest = divmod(packets - 1, int(buffer))
    last = full * round_trip + rest if round_trip > buffer else float(packets - 1)
    assert run.lost.sum() == 0
    assert RATE * run.finished[0] == pytest.approx(last + 2.0 + 2.0 * delay, rel=1e-9)


@pytest.mark.parametrize("update", [1.0, 3.0])
@pytest.mark.parametrize("window", [0.5, 1.0, 4.0, 7.3])
def test_the_default_buffer_is_the_least_that_never_waits(window: float, update: float) -> None:
    def waits(law: dfc.LinkLaw) -> int:
        lasting = line(law, window / 2.0, 100).pauses()["duration"].values > 1e-9 / RATE
        return int(lasting.sum())

    law = dfc.Credits(update=update)
    least = float(law.room(RATE, window / 2.0 / RATE))
    assert waits(law) == 0
    assert waits(replace(law, buffer=least - 1.0)) > 0


@pytest.mark.parametrize("seed", range(5))
def test_the_calculator_and_the_law_agree_on_the_credits_of_full_rate(seed: int) -> None:
    rng = np.random.default_rng([2048, seed])
    frame, bits = int(rng.integers(500, 4096)), [25e9, 100e9, 400e9][rng.integers(3)]
    found = dfc.credits(
        f"{bits / 1e9:g}Gbps",
        f"{int(rng.integers(5, 400))}m",
        mtu=frame,
        credit=frame,
        datasheet=dfc.CreditDatasheet(behind_frame=bool(rng.integers(2)), pipeline="100ns", interface="50ns"),
    )
    wire = 8.0 * (frame + 20)  # bits of a frame with its preamble and gap
    cable = found.delays["cable"] / 2.0
    round_trip = sum(found.delays.values()) + 8.0 * frame  # bits from the start of a frame on
    rate, delay = bits / wire, cable / bits
    signalling = (round_trip - 2.0 * wire) / bits - 2.0 * delay

    def part_of_line_rate(buffer: float) -> float:
        law = dfc.Credits(buffer=buffer, signalling=signalling)
        links = dfc.chain(3, rate=rate, delay=delay, buffer=1e4, discipline=law)
        flow = dfc.Flow("a", (1, 2, 3), FixedRate(rate), size=500.0)
        run = dfc.simulate(dfc.Scenario("credits", links, [flow], duration=5e3 / rate), dfc.Packets(seed=1))
        return float((2.0 * delay + 501.0 / rate) / run.finished[0])

    assert part_of_line_rate(found.credits) == pytest.approx(1.0, rel=1e-9)
    assert part_of_line_rate(found.credits - 1.0) < 1.0 - 1e-4


SIDES = (1, 2, 3, 4)


def around(law: dfc.LinkLaw, load: float, hops: int = 2) -> Any:
    """Return the run of a ring of four switches, each of which sends over the next ``hops`` links of the ring."""
    links = [dfc.Link(n, n % 4 + 1, RATE, 2.0 / RATE, 1e3, law) for n in SIDES]
    links += [dfc.Link(f"h{n}", n, RATE, 1.0 / RATE, 1e3, law) for n in SIDES]
    links += [dfc.Link(n, f"d{n}", RATE, 1.0 / RATE, 1e3, law) for n in SIDES]
    flows = []
    for n in SIDES:
        nodes = tuple((n + k - 1) % 4 + 1 for k in range(hops + 1))
        flows.append(dfc.Flow(f"{n}", (f"h{n}", *nodes, f"d{nodes[-1]}"), dfc.CBR(load * RATE)))
    return dfc.simulate(dfc.Scenario("ring", links, flows, duration=4e3 / RATE), dfc.Packets(seed=1))


def test_credits_deadlock_on_a_ring_as_pauses_do() -> None:
    run = around(dfc.Credits(buffer=8.0), load=0.9)
    assert run.status.label == "deadlocked"
    assert set(run.deadlock.cycle) == {"1->2", "2->3", "3->4", "4->1"}
    assert run.lost.sum() == 0
    below = around(dfc.Credits(buffer=8.0), load=0.4)
    assert below.status.label == "completed"
    assert below.deadlock is None


def test_a_buffer_below_the_room_of_a_law_names_the_law_and_its_parameters() -> None:
    """Two senders, and a round trip of 200 packets: twice 202 packets, of which none is xoff or headroom."""
    links = [dfc.Link(*ends, RATE, 100.0 / RATE, 300, dfc.Credits()) for ends in ("as", "bs", "sd")]
    flows = [dfc.Flow(host, (host, "s", "d"), dfc.CBR(RATE)) for host in "ab"]
    text = (
        r"Credits reserves 404 packets of its buffer for 2 ingress queues; increase it to 404 packets \(.*\), "
        "or reduce buffer of Credits, update or signalling"
    )
    with pytest.raises(ValueError, match=text):
        dfc.Scenario("long", links, flows)


def test_a_law_that_does_not_prevent_losses_is_said_to_lose() -> None:
    @dataclass(frozen=True)
    class Blind(dfc.LinkLaw):
        def room(self, rate: Any, delay: Any, packet_size: float = 0.0, buffer: Any = 0.0) -> Any:
            return 5.0 + 0.0 * rate

        @staticmethod
        def may_send(s: Any, q: Any, e: Any) -> Any:
            return True

    links = [
        dfc.Link("a", "s", RATE, 1e-6, 100.0, Blind()),
        dfc.Link("b", "s", RATE, 1e-6, 100.0, Blind()),
        dfc.Link("s", "c", RATE, 1e-6, 100.0, Blind()),
    ]
    flows = [dfc.Flow(name, (name, "s", "c"), dfc.CBR(0.9 * RATE)) for name in "ab"]
    run = dfc.simulate(dfc.Scenario("blind", links, flows, duration=1e-3), dfc.Packets(seed=1))
    assert run.status.label == "lost in a lossless class"
    assert "did not keep arrivals within 5 packets" in str(run.lossless_losses[0])


@pytest.mark.parametrize(
    ("function", "value", "message"),
    [
        ("may_send", 0.5, r"link a->s: Wrong.may_send returned 0.5: must be 0.0 or 1.0"),
        ("send", 2.0, r"Wrong.on_arrival returned send = 2: must be 0.0 or 1.0"),
        ("message", np.nan, r"Wrong.on_arrival returned message = nan: must be a number"),
    ],
)
def test_what_a_law_cannot_return_is_refused(function: str, value: float, message: str) -> None:
    @dataclass(frozen=True)
    class Wrong(dfc.LinkLaw):
        answer: float = 1.0
        send: float = 0.0
        message: float = 0.0

        def room(self, rate: Any, delay: Any, packet_size: float = 0.0, buffer: Any = 0.0) -> Any:
            return 5.0 + 0.0 * rate

        @staticmethod
        def may_send(s: Any, q: Any, e: Any) -> Any:
            return q.answer

        @staticmethod
        def on_arrival(s: Any, q: Any, e: Any) -> Any:
            return s._replace(send=q.send, message=q.message)

    given = {"may_send": {"answer": value}, "send": {"send": value}}
    law = Wrong(**given.get(function, {"send": 1.0, "message": value}))
    links = [dfc.Link(*ends, RATE, 1e-6, 100.0, law) for ends in (("a", "s"), ("s", "b"))]
    scenario = dfc.Scenario("wrong", links, [dfc.Flow("f", ("a", "s", "b"), dfc.CBR(RATE))], duration=1e-3)
    with pytest.raises(ArithmeticError, match=message):
        dfc.simulate(scenario, dfc.Packets(seed=1))


def test_refusals_name_what_is_allowed() -> None:
    law = dfc.Credits(buffer=5.0)
    links = [dfc.Link("a", "s", RATE, 1e-6, 100.0, law), dfc.Link("s", "b", RATE, 1e-6, 100.0, law)]
    flow = dfc.Flow("f", ("a", "s", "b"), dfc.CBR(RATE))

    def refused(links: Any, flow: dfc.Flow, message: str, method: Any = None) -> None:
        with pytest.raises(ValueError, match=message):
            dfc.simulate(dfc.Scenario("refused", links, [flow], duration=1e-3), method or dfc.Packets(seed=1))

    refused(links, replace(flow, host="unshaped"), "needs an interface.*use host='nic'")
    longer = [
        replace(links[0], discipline=dfc.FIFO()),
        dfc.Link("s", "t", RATE, 1e-6, 100.0, dfc.FIFO()),
    ]
    longer = [links[0], replace(longer[1]), dfc.Link("t", "b", RATE, 1e-6, 100.0, law)]
    refused(longer, replace(flow, path=("a", "s", "t", "b")), "discipline of link 's->t'.*LinkLaw")
    with_codel = [links[0], replace(links[1], discipline=dfc.Credits(manager=dfc.CoDel()))]
    refused(with_codel, flow, r"manager of link s->b = CoDel")
    refused(links, flow, r"method=Fluid\(\) runs", dfc.Fluid())
    refused([links[0], replace(links[1], buffer=4.0)], flow, "buffer of link 's->b' = 4")
    for given, message in (
        ({"buffer": 0.5}, "buffer = 0.5: must be a finite number >= 1"),
        ({"buffer": 3.0, "update": 3.0}, "update = 3: must be at most buffer - 1 = 2"),
        ({"update": 0.0}, "update = 0"),
        ({"classes": (9,)}, "classes = 9"),
        ({"signalling": -1.0}, "signalling = -1"),
    ):
        with pytest.raises(ValueError, match=message):
            dfc.Credits(**given)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="Receiver of Bad has the fields a, must begin with send"):

        class Bad(dfc.LinkLaw):
            class Receiver(NamedTuple):
                a: float = 0.0


# Links that repeat frames.


@pytest.mark.parametrize("seed", [0, 1, 2, *(pytest.param(n, marks=pytest.mark.slow) for n in range(3, 40))])
def test_fabrics_with_errors_are_those_of_the_reference(seed: int) -> None:
    scenario = under_law(seed) if seed % 2 else random_fabric(seed)
    rng = np.random.default_rng([2049, seed])
    errors = {link.name: float(rng.uniform(0.0, 0.2)) for link in scenario.links[::2]}
    method = dfc.Packets(seed=1, frame_errors=errors, retry_delay=float(rng.integers(2)) * 1e-6)
    plan = plan_scenario(scenario, method, duration=scenario.duration, sample=scenario.duration)
    equal_records(plan)


def test_a_line_of_queues_with_errors_is_that_of_the_reference() -> None:
    links = [dfc.Link(n, n + 1, RATE, 1.7e-6, 20.0, dfc.FIFO()) for n in range(3)]
    flows = [
        dfc.Flow("window", (0, 1, 2, 3), NewReno(), max_window=40.0),
        dfc.Flow("rate", (0, 1, 2, 3), FixedRate(0.6 * RATE), host="nic"),
    ]
    scenario = dfc.Scenario("line", links, [replace(flows[0], host="nic"), flows[1]], duration=2e-3)
    method = dfc.Packets(seed=3, frame_errors={"0->1": 0.1, "1->2": 0.3})
    equal_records(plan_scenario(scenario, method, duration=2e-3, sample=2e-4))


@pytest.mark.parametrize("errors", [1e-3, 0.02, 0.2])
def test_the_throughput_is_that_of_the_chain(errors: float) -> None:
    loop, packets = 6, 20_000  # slots from the start of a frame on until its link acts
    links = dfc.chain(3, rate=RATE, delay=(loop - 1.0) / 2.0 / RATE, buffer=1e5)
    flow = dfc.Flow("a", (1, 2, 3), FixedRate(RATE), size=float(packets), host="nic")
    scenario = dfc.Scenario("errors", links, [flow], duration=1.0)
    runs = [dfc.simulate(scenario, dfc.Packets(seed=n, frame_errors={"1->2": errors}), sample=1.0) for n in range(1, 6)]
    assert sum(run.lost.sum() for run in runs) == 0
    times = np.array([RATE * run.finished[0] - 2.0 * (loop - 1.0) / 2.0 - 1.0 for run in runs])
    slots = times / packets
    frame = 8 * 4096
    law = replace(link_retry("100Gbps", "10m", 4096), loop=loop * (frame + 160) - frame - 64)
    assert law.slots == loop
    wanted = 1.0 / law.throughput(errors)
    spread = slots.std(ddof=1) / np.sqrt(len(slots))
    assert abs(slots.mean() - wanted) < 4.6 * spread  # Student's t with 4 degrees, 1 % two-sided


def test_refusals_of_retries_name_what_is_allowed() -> None:
    links = dfc.chain(2, rate=RATE, delay=1e-6, buffer=10)
    scenario = dfc.Scenario("refused", links, [dfc.Flow("a", (1, 2), NewReno())], duration=1e-3)
    with pytest.raises(ValueError, match="frame_errors: link = 'a->b': must be one of '1->2'"):
        dfc.simulate(scenario, dfc.Packets(frame_errors={"a->b": 0.1}))
    for given, message in (
        ({"frame_errors": {"1->2": 1.0}}, "frame_errors of 1->2 = 1"),
        ({"retry_delay": -1.0}, "retry_delay = -1"),
        ({"frame_errors": {"1->2": 0.1}, "convention": "ns2"}, "frame_errors: must be None"),
    ):
        with pytest.raises(ValueError, match=message):
            dfc.Packets(**given)  # type: ignore[arg-type]
