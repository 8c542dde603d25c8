"""Every public parameter with a unit takes a string; every public function says what it takes.

`parameter_units.csv` has a row for each parameter that may be a number: its dimension, or why it has none. A new
parameter without a row fails, and so does one with a unit whose function does not declare it.
"""

from __future__ import annotations

import csv
import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dfcmodel
import markov
import responsefn
from dfcmodel import CBR, Flow, Link, Scenario, chain, lossless, simulate, takano2006
from dfcmodel.sharing.bottlenecks import bottleneck_of
from hopflow import mbps
from hopflow.public_modules import PUBLIC
from hopflow.results import Result
from hopflow.units import quantities_of

MODULES = tuple(name for name in PUBLIC if name != "validation")
OURS = tuple(name.partition(".")[0] for name in MODULES)
NUMBERS = re.compile(r"float|int\b|Any|ArrayLike|Floats|Given|NDArray|Range|Vector|WithUnit")
DIMENSIONS = ("rate", "bit_rate", "time", "amount", "size", "length", "share")
NO_DIMENSION = ("1", "count", "object", "hook", "1/s", "raw")
"""A number; a whole number; no number; of a hook that engines call; 1/s; in units that the docstring names."""


def _public() -> Iterator[tuple[str, Callable[..., Any], bool]]:
    """The functions, the constructors of what users make, and the methods, by qualified name; whether it is a method."""
    for package in MODULES:
        module = importlib.import_module(package)
        for name in module.__all__:
            item = getattr(module, name)
            if inspect.isclass(item):
                if not issubclass(item, (Result, BaseException, tuple)):
                    yield name, item, False
                for method, function in inspect.getmembers(item):
                    own = inspect.isfunction(function) or inspect.ismethod(function)
                    hidden = method.startswith(("_", "on_"))
                    if own and not hidden and function.__module__.partition(".")[0] in OURS:
                        yield f"{name}.{method}", function, True
            elif callable(item):
                yield name, item, False


def _numbers(function: Callable[..., Any]) -> Iterator[str]:
    """The names of the parameters that may be numbers."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return
    for name, each in signature.parameters.items():
        if name in ("self", "cls", "ax") or each.kind in (each.VAR_KEYWORD, each.VAR_POSITIONAL):
            continue
        if each.annotation is each.empty or NUMBERS.search(str(each.annotation)):
            yield name


def _table() -> dict[str, str]:
    with Path(__file__).with_name("parameter_units.csv").open(encoding="utf-8") as file:
        rows = {row["parameter"]: row["dimension"] for row in csv.DictReader(file)}
    assert set(rows.values()) <= {*DIMENSIONS, *NO_DIMENSION}
    return rows


def test_every_parameter_with_a_unit_takes_a_string() -> None:
    table, used, wrong = _table(), set(), []
    for name, function, is_method in _public():
        declared = quantities_of(function)
        for parameter in _numbers(function):
            keys = [f"{name}.{parameter}"]
            keys += [f"{name.partition('.')[2]}().{parameter}"] if is_method else []
            key = next((key for key in [*keys, parameter] if key in table), None)
            if key is None:
                wrong.append(f"{name}({parameter}): has no row in parameter_units.csv")
                continue
            used.add(key)
            asked = table[key]
            if (asked if asked in DIMENSIONS else None) != declared.get(parameter):
                wrong.append(f"{name}({parameter}): {asked}, declared {declared.get(parameter)}")
    assert not wrong, "\n".join(wrong)
    assert table.keys() - used == set()


ONE = chain(2, rate=2000.0, delay=0.02, buffer=80)
CALLS = [
    (lambda: chain(2, rate="24Mbps", delay="20ms", buffer="80pkt"), lambda: ONE),
    (lambda: Link(1, 2, "24Mbps", "20ms", "80pkt"), lambda: ONE[0]),
    (lambda: Link(1, 2, 2000.0, 0.02, "120kB").buffer, lambda: dfcmodel.ByteBuffer(120_000)),
    (lambda: dfcmodel.dumbbell(1, rate="24Mbps", delay="20ms", access_rate="240Mbps", access_delay="1ms", buffer="80pkt"),
     lambda: dfcmodel.dumbbell(1, rate=2000.0, delay=0.02, access_rate=20_000.0, access_delay=1e-3, buffer=80)),
    (lambda: CBR("12Mbps"), lambda: CBR(1000.0)),
    (lambda: dfcmodel.Pause(high="80pkt", low="60pkt"), lambda: dfcmodel.Pause(high=80, low=60)),
    (lambda: dfcmodel.RED(low="5pkt", high="22.5kB"), lambda: dfcmodel.RED(low=5, high=15)),
    (lambda: dfcmodel.CoDel(target="5ms", interval="100 ms"), lambda: dfcmodel.CoDel()),
    (lambda: dfcmodel.SelectiveRepair(rto_low="1ms", rto_high="2ms"), lambda: dfcmodel.SelectiveRepair(1e-3, 2e-3)),
    (lambda: Flow("f", (1, 2), CBR(100.0), start="1s", size="1MB"), lambda: Flow("f", (1, 2), CBR(100.0), start=1.0, size=667)),
    (lambda: Scenario("s", ONE, [Flow("f", (1, 2), CBR(100.0))], duration="2s"), lambda: Scenario("s", ONE, [Flow("f", (1, 2), CBR(100.0))], duration=2.0)),
    (lambda: dfcmodel.choose_level(takano2006("1"), duration="50ms").reason, lambda: dfcmodel.choose_level(takano2006("1"), duration=0.05).reason),
    (lambda: dfcmodel.to_ns2(takano2006("1", dfc=False), duration="50ms"), lambda: dfcmodel.to_ns2(takano2006("1", dfc=False), duration=0.05)),
    (lambda: simulate(takano2006("1"), duration="50ms", level="fluid").mean_efficiency(since="20ms").tolist(),
     lambda: simulate(takano2006("1"), duration=0.05, level="fluid").mean_efficiency(since=0.02).tolist()),
    (lambda: lossless.headroom("400Gbps", "100m").bytes, lambda: lossless.headroom(400e9, 100).bytes),
    (lambda: lossless.credits("400Gbps", "100m"), lambda: lossless.credits(400e9, 100.0)),
    (lambda: markov.transient(markov.MM1K(), ["100ms", 1.0], start=(0,)).pi.tolist(), lambda: markov.transient(markov.MM1K(), [0.1, 1.0], start=(0,)).pi.tolist()),
    (lambda: markov.PauseTandem(link_rate="1.2Mbps", rtt="1s"), lambda: markov.PauseTandem(link_rate=100.0, rtt=1.0)),
    (lambda: responsefn.match(responsefn.AIMD(), responsefn.Reno(), 1e-3, rtt="40ms"), lambda: responsefn.match(responsefn.AIMD(), responsefn.Reno(), 1e-3, rtt=0.04)),
    (lambda: dfcmodel.coexist(responsefn.Reno(), "40ms", "6Mbps", "20pkt", duration="2s").share.tolist(),
     lambda: dfcmodel.coexist(responsefn.Reno(), 0.04, 500.0, 20, duration=2.0).share.tolist()),
    (lambda: responsefn.LEDBAT(target="60ms"), lambda: responsefn.LEDBAT(target=0.06)),
    (lambda: responsefn.BBR(loss_threshold="2%"), lambda: responsefn.BBR()),
    (lambda: responsefn.CUBIC().rate("1%", "40ms"), lambda: responsefn.CUBIC().rate(0.01, 0.04)),
    (lambda: dfcmodel.Packets(loss={"1->2": "1%"}), lambda: dfcmodel.Packets(loss={"1->2": 0.01})),
    (lambda: dfcmodel.RED(max_p="10%"), lambda: dfcmodel.RED(max_p=0.1)),
    (lambda: dfcmodel.RampMarking(max_p="1%"), lambda: dfcmodel.RampMarking()),
    (lambda: dfcmodel.BurstLoss("1->2", "0.1%", "10%"), lambda: dfcmodel.BurstLoss("1->2", 0.001, 0.1)),
    (lambda: lossless.Watchdog("200ms", "400ms", "2s", fraction="50%"), lambda: lossless.Watchdog(0.2, 0.4, 2.0, fraction=0.5)),
    (lambda: lossless.link_retry("400Gbps", "100m", request_loss="1%").request_loss, lambda: 0.01),
    (lambda: bottleneck_of("24Mbps", "40ms", "80pkt", loss="1%").loss, lambda: 0.01),
]  # fmt: skip


@pytest.mark.parametrize(("with_units", "numbers"), CALLS, ids=map(str, range(len(CALLS))))
def test_a_string_is_its_number(with_units, numbers) -> None:
    assert with_units() == numbers()


QUICK = ("Reno", "CUBIC", "TFRC", "BBR", "HSTCP")
"""Rules of each kind of response; rates of the others are computed by the same function."""


def _rules() -> list[Any]:
    marks = {True: (), False: pytest.mark.slow}
    entries = responsefn.catalogue().entries
    return [pytest.param(each, marks=marks[type(each).__name__ in QUICK]) for each in entries]


@pytest.mark.parametrize("rule", _rules(), ids=repr)
def test_rules_take_round_trips_with_units(rule) -> None:
    if type(rule).__name__ in ("CBR",):
        pytest.skip("it has no response")
    numbers, strings = {"rtt": 0.04, "bandwidth": 2000.0}, {"rtt": "40ms", "bandwidth": "24Mbps"}
    try:
        asked = rule.rate(1e-3, **numbers)
    except (TypeError, ValueError, NotImplementedError, ArithmeticError) as error:
        pytest.skip(f"no rate: {error}")
    np.testing.assert_array_equal(rule.rate(1e-3, **strings), asked)


def test_a_bit_rate_is_for_packets_of_one_size() -> None:
    links = chain(2, rate="24Mbps", delay="20ms", buffer=80)
    flows = [Flow("f", (1, 2), CBR(100.0))]
    with pytest.raises(ValueError, match=r"rate of link 1->2 = 2000: .* packet_size = 1000"):
        Scenario("s", links, flows, packet_size=1000)
    given = chain(2, rate=mbps(24, 1000), delay="20ms", buffer=80)
    with pytest.raises(ValueError, match=r"rate of a source = 83\.3333: .* packet_size = 1000"):
        Scenario("s", given, [Flow("f", (1, 2), CBR("1Mbps"))], packet_size=1000)
    assert Scenario("s", given, flows, packet_size=1000).packet_size == 1000


OPEN = {
    "hopflow.sweep": "the parameters of the thing",
    "markov.sweep": "the same function",
    "dfcmodel.headroom_table": "the parameters of headroom",
    "dfcmodel.lossless.headroom_table": "the parameters of headroom",
    "dfcmodel.compare": "the labels of the columns",
}


def test_every_public_function_has_an_explicit_signature() -> None:
    """Keywords are named, or those of a TypedDict."""
    found = {}
    for package in MODULES:
        module = importlib.import_module(package)
        for name in module.__all__:
            item = getattr(module, name)
            if callable(item) and not inspect.isclass(item):
                for each in inspect.signature(item).parameters.values():
                    if each.kind is each.VAR_KEYWORD and "Unpack[" not in str(each.annotation):
                        found[f"{package}.{name}"] = each
    assert found.keys() == OPEN.keys()
