"""Reference answers of networks and queue managers; see `benchmarks.planted_faults.probes`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.planted_faults.probes import Answers, attempt, numbers, public_calls


def fluid(_: str) -> Answers:
    """Fluid runs of small networks with every discipline, kind of sender and host."""
    from dfcmodel import Fluid, simulate
    from tests.dfcmodel.engine import test_reference as samples

    for name, sort, host in samples.EVERY:
        scenario = samples.crossing(samples.DISCIPLINES[name], samples.SOURCES[sort], host)
        yield (
            f"{name} {sort} {host}",
            attempt(lambda x=scenario: _records(simulate(x, duration=0.4, sample=0.05, level="fluid"))),
        )
    for name, scenario in _random_networks():
        yield (
            name,
            attempt(
                lambda x=scenario: _records(simulate(x, method=Fluid(steps_per_delay=10), duration=0.4, sample=0.05))
            ),
        )


def packets(_: str) -> Answers:
    """Packet runs of random networks with every discipline and recovery."""
    from dfcmodel import Packets, simulate

    kinds = (Packets(), Packets(recovery="sack"), Packets(recovery="tahoe"))
    for name, scenario in _senders():
        for method in (
            Packets(seed=1),
            Packets(recovery="prr", ack_transmission=False, ack_delay=0.04),
        ):
            yield (
                f"{name} {method!r}",
                attempt(
                    lambda x=scenario, w=method: _records(
                        simulate(x, method=w, duration=1.5, sample=0.05, packet_jitter=1e-4)
                    )
                ),
            )
    for name, scenario in _random_networks():
        for method in kinds:
            yield (
                f"{name} {method!r}",
                attempt(lambda x=scenario, w=method: _records(simulate(x, method=w, duration=0.6, sample=0.05))),
            )


def _senders() -> Iterator[tuple[str, Any]]:
    """Yield two flows over one bottleneck, with every kind of sender and receiver, and losses on the way."""
    import responsefn as r
    from dfcmodel import CBR, DualPI2, Flow, Link, OnOff, Scenario

    rules = (
        r.BBR(), r.BBRv1(), r.Copa(), r.LEDBAT(), r.Prague(), r.Swift(base_target=0.03), r.CUBIC(), r.NS2Vegas(),
        r.DCQCN(notification=4e-3, alpha_timer=5e-3, timer=6e-3, counter=20.0), r.TIMELY(t_low=0.02, t_high=0.05),
        r.hystart(r.Reno()), OnOff(900.0, 0.05, 0.04, random=True), CBR(700.0), r.DCTCP(),
    )  # fmt: skip
    for n, rule in enumerate(rules):
        for kind in (None, DualPI2()):
            more = {} if kind is None else {"discipline": kind}
            links = (
                Link("a", "b", 1000.0, 5e-3, 15.0, **more), Link("b", "c", 4000.0, 3e-3, 30.0),
                Link("c", "a", 800.0, 2e-3, 12.0),
            )  # fmt: skip
            window = isinstance(rule, r.WindowRule)
            extra = {"delayed_acks": True, "pacing": n % 2 == 0, "size": 120.0, "idle": 0.1} if window else {}
            if isinstance(rule, r.DeliveryRule):
                extra = {"delayed_acks": n % 2 == 0}
            flows = (
                Flow("one", ("a", "b", "c"), rule, 60.0, **extra),
                Flow("two", ("b", "c", "a"), r.NewReno(), 60.0, 0.03, delayed_acks=True),
                Flow("three", ("a", "b", "c"), rule, 60.0, 0.01),
            )
            yield f"{rule!r} {kind!r}", Scenario("senders", links, flows, duration=2.0)


def _random_networks() -> Iterator[tuple[str, Any]]:
    from tests.dfcmodel.packets import conftest as samples

    for n in (1, 2, 3, 4):
        for name in [*samples.DISCIPLINES, *samples.MANAGED]:
            yield f"{name} {n}", samples.random_scenario(name, n)
        yield f"classes {n}", samples.random_classes(n)
        yield f"switches {n}", samples.random_switches(n)
        yield f"diffusive {n}", samples.random_diffusive(n)


def _records(run: Any) -> list[float]:
    return [
        x
        for name in (
            "delivered",
            "lost",
            "queued",
            "carried",
            "peak_queue",
            "round_trip",
            "window",
            "mean_queue",
        )
        for x in numbers(np.nan_to_num(getattr(run, name)))
    ]


def managers(_: str) -> Answers:
    """Queue managers at random states as plain Python, and their checks."""
    import dataclasses

    import dfcmodel as d

    kinds = [
        d.RED(),
        d.RED(gentle=False, ecn=True),
        d.CoDel(),
        d.PIE(),
        d.StepMarking(4.0),
        d.RampMarking(2.0, 8.0, 0.5),
        d.PI2(),
        d.PI2(ecn=True),
        d.DualPI2(),
    ]
    rng = np.random.default_rng(4)
    for manager in kinds:
        yield f"{manager!r}", str(manager)
        if not hasattr(manager, "on_step"):
            continue
        q = type("Q", (), manager.numbers(1000.0))
        for n in range(60):
            s = manager.State(
                *(float(10 ** rng.uniform(-3, 1.0)) * (rng.random() < 0.8) for _ in manager.State._fields)
            )
            e = _arrivals(rng)
            yield f"{manager!r} {n}", attempt(lambda m=manager, s=s, e=e, q=q: m.on_step(s, q, e))
        for field in dataclasses.fields(manager):
            for value in (-1.0, 0.0, 0.5, 1.0, 2.0, 100.0):
                yield (
                    f"{manager!r} {field.name}={value}",
                    attempt(
                        lambda m=manager, k=field.name, v=value: (
                            dataclasses.replace(m, **{k: v}),
                            0,
                        )[1]
                    ),
                )


def _arrivals(rng: np.random.Generator) -> Any:
    from types import SimpleNamespace

    from dfcmodel.network.queueing.disciplines import Arrivals

    values = {name: float(10 ** rng.uniform(-3, 1.3)) for name in Arrivals._fields}
    values["random"] = float(rng.random())
    if rng.random() < 0.2:
        values["backlog"] = 0.0
    return SimpleNamespace(**values)


def scenarios(_: str) -> Answers:
    """Runs, or refusals, of drawn scenarios of every family, and public functions of networks and levels."""
    from benchmarks.scenario_answers import FAMILIES
    from dfcmodel import simulate

    for family, (_, draw) in FAMILIES.items():
        for seed in range(5):
            scenario, method = draw(seed)
            yield f"{family} {seed}", attempt(lambda x=scenario, w=method: _records(simulate(x, w)))
    for package in ("network", "packets", "engine", "levels"):
        yield from public_calls(f"dfcmodel.{package}")


def lossless(_: str) -> Answers:
    """Public functions of lossless fabrics."""
    yield from public_calls("dfcmodel.lossless")


def sharing(_: str) -> Answers:
    """Rules that share a path, ensembles, and public functions of sharing, results and theory."""
    import responsefn as r
    from dfcmodel import PathOptions, RunSettings, coexist, compare, ensemble, takano2006

    path = {"bandwidth": "4Mbps", "rtt": "30ms", "buffer": 20, "options": PathOptions(duration=6.0)}
    for rules in ((r.Reno(), r.CUBIC()), (r.NewReno(), r.BBR()), (r.Reno(),)):
        yield f"share {rules}", attempt(lambda x=rules: coexist(x, **path).share)
        yield f"compared {rules}", attempt(lambda x=rules: compare(x, **path).share)
    yield (
        "ensemble",
        attempt(lambda: ensemble(takano2006("1"), 3, level="packets", options=RunSettings(duration=0.2)).goodput),
    )
    for package in ("sharing", "results", "theory", "twin", "comparing", "ensembles", "sweeps", "simulation"):
        yield from public_calls(f"dfcmodel.{package}")


PROBES: dict[str, Callable[[str], Answers]] = {
    "scenarios to arrays": scenarios,
    "lossless fabrics": lossless,
    "sharing and results": sharing,
    "fluid kernel": fluid,
    "packet kernel": packets,
    "queue managers": managers,
}
