"""Option objects refuse values that no call can use, when they are made."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dfcmodel import (
    CreditDatasheet,
    Fabric,
    Packets,
    PathOptions,
    PauseDatasheet,
    RandomRuns,
    RunSettings,
    TrafficOptions,
    all_reduce,
    coexist,
    coexist_sweep,
    compare,
    ensemble,
    explain,
    headroom,
    headroom_table,
    packet_limit,
    random_traffic,
    takano2006,
)
from dfcmodel.lossless import BufferRow, audit_headroom, credits, leaf_spine
from dfcmodel.network.scenario_files.toml_reading import read_scenario
from dfcmodel.sharing.bottlenecks import Bottleneck
from hopflow.keywords import WithFields
from markov import pause_thresholds
from responsefn import CUBIC, DirectSimulation, Reno, simulate_rule

NO_NUMBERS = (float("nan"), [float("nan")], np.array([1.0, 2j]), Decimal("nan"), np.datetime64("2020-01-01"), object())


@pytest.mark.parametrize("value", NO_NUMBERS, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize(
    ("kind", "names"),
    [
        (CreditDatasheet, "interface gearbox pipeline velocity smallest message update overhead behind_frame"),
        (PauseDatasheet, "interface gearbox pipeline velocity smallest response exceeded merged"),
        (RunSettings, "duration sample packet_jitter"),
        (RandomRuns, "duration jitter seed since packet_jitter"),
        (PathOptions, "loss duration warm_up packet_size seed pacing discipline"),
        (TrafficOptions, "packet_size seed"),
        (DirectSimulation, "bandwidth buffer seed unit_check"),
    ],
)
def test_a_field_that_is_no_number_is_refused_by_name(kind: Any, names: str, value: Any) -> None:
    for name in names.split():
        with pytest.raises((TypeError, ValueError), match=f"^{name} = "):
            kind(**{name: value})


@pytest.mark.parametrize(
    ("kind", "changed", "message"),
    [
        (PauseDatasheet, {"pipeline": ("1us", "2us", "3us")}, r"^pipeline = \(.*\): a range must be a pair"),
        (PauseDatasheet, {"response": ("1us", -1.0)}, r"^response = -1: must be a finite number >= 0"),
        (PauseDatasheet, {"velocity": (2.1e8, 2.0e8)}, r"^velocity = .*: the low end of a range must come first"),
        (PauseDatasheet, {"velocity": 5e-9}, r"^velocity = 5e-09: must be .* in m/s: 2e8 is 5 ns/m"),
        (PauseDatasheet, {"smallest": "63B"}, r"^smallest = 63\.0: must be a whole number in 64\.\.65535"),
        (PauseDatasheet, {"exceeded": "100%"}, r"^exceeded = 1: must be .* < 1"),
        (CreditDatasheet, {"interface": ("1us", "2us")}, r"^interface = \('1us', '2us'\): must be a finite number"),
        (CreditDatasheet, {"gearbox": "2 s"}, r"^gearbox = '2 s': must be from 0 to 1 s"),
        (CreditDatasheet, {"message": 8.5}, r"^message = 8\.5: must be a whole number"),
        (RunSettings, {"packet_jitter": "-1pkt"}, r"^packet_jitter = -1: must be a finite number >= 0"),
        (PathOptions, {"packet_size": 1e-300}, r"^packet_size = 1e-300: must be a finite number >= 1"),
    ],
)
def test_a_value_that_no_rate_allows_is_refused(kind: Any, changed: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        kind(**changed)


def test_a_delay_whose_order_depends_on_the_rate_is_checked_with_the_rate() -> None:
    """820 B take less than 1 us at 10 Tb/s, and more at 100 Mb/s."""
    for pair, first in ((("1us", "820B"), "1Gbps"), (("820B", "1us"), "400Gbps")):
        sheet = PauseDatasheet(pipeline=pair)
        assert headroom(first, "5m", datasheet=sheet).ranged == ("pipeline",)
    with pytest.raises(ValueError, match="the low end of a range must come first"):
        headroom("1Gbps", "5m", datasheet=sheet)


def test_sizes_of_a_datasheet_are_bytes() -> None:
    assert CreditDatasheet(message="8B", smallest=36.0, overhead=np.int64(24)) == CreditDatasheet(
        message=8, smallest=36, overhead=24
    )


PATH = {"rtt": 0.1, "bandwidth": 500.0, "buffer": 20}
FLOWS = {"source": Reno(), "links": Fabric(leaf_spine(2, 2)).links}


CALLS = {
    "coexist": (lambda **given: coexist(Reno(), **PATH, **given), "options"),
    "coexist senders": (lambda **given: coexist(Reno(), **PATH, **given), "senders"),
    "coexist_sweep": (lambda **given: coexist_sweep([Reno()], **PATH, **given), "options"),
    "compare": (lambda **given: compare([Reno(), CUBIC()], **PATH, **given), "options"),
    "ensemble": (lambda **given: ensemble(takano2006("1"), 2, **given), "options"),
    "explain": (lambda **given: explain(takano2006("1"), **given), "options"),
    "packet_limit": (lambda **given: packet_limit(takano2006("1"), **given), "options"),
    "credits": (lambda **given: credits("100Gbps", "5m", **given), "datasheet"),
    "headroom": (lambda **given: headroom("100Gbps", "5m", **given), "datasheet"),
    "headroom_table": (lambda **given: headroom_table(["100Gbps"], ["5m"], **given), "datasheet"),
    "all_reduce": (lambda **given: all_reduce(["a", "b"], 2, **FLOWS, **given), "options"),
    "random_traffic": (lambda **given: random_traffic(["a", "b"], "web search", 0.3, 0.01, **FLOWS, **given), "options"),
    "simulate_rule": (lambda **given: simulate_rule(Reno(), 0.01, 0.1, **given), "options"),
    "pause_thresholds": (lambda **given: pause_thresholds(**given), "port"),
    "simulate_rule by fields": (lambda **given: WithFields(simulate_rule)(rule=Reno(), p=0.01, rtt=0.1, seed=1, **given), "options"),
    "coexist by fields": (lambda **given: WithFields(coexist)(rules=Reno(), starts=0.0, **PATH, **given), "senders"),
}  # fmt: skip


@pytest.mark.parametrize("options", [3, (), "text", CUBIC(), PathOptions], ids=lambda value: type(value).__name__)
@pytest.mark.parametrize(("call", "into"), CALLS.values(), ids=CALLS)
def test_options_of_another_class_are_refused_by_name(call: Any, into: str, options: Any) -> None:
    with pytest.raises(TypeError, match=rf"^{into} = .*: must be [a-z]* ?[A-Z]"):
        call(**{into: options})


def test_numbers_of_other_types_are_stored_as_numbers() -> None:
    with pytest.raises(ValueError, match=r"^reroute_delay = 0\.333333: must be 0 without failures"):
        Packets(reroute_delay=Fraction(1, 3))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^duration = 0\.333333: with warm_up"):
        Bottleneck(1000.0, 0.1, 40, duration=Fraction(1, 3), warm_up=0.1)  # type: ignore[arg-type]
    path = {"bandwidth": 1000.0, "rtt": 0.02, "buffer": 20}
    data = coexist_sweep([Reno()], **path, runs=np.float32(2.0), options=PathOptions(duration=1.0))  # type: ignore[arg-type]
    assert data.sizes["run"] == 2
    data = coexist_sweep([Reno()], **path, runs=1, options=PathOptions(duration=1.0, packet_size=10**30))
    assert data.attrs["packet_size"] == "1e+30"
    assert type(headroom("100Gbps", "5m", classes=np.float32(2.0)).port_bytes) is int  # type: ignore[arg-type]


def test_other_arguments_that_are_none_of_the_allowed_ones() -> None:
    with pytest.raises(TypeError, match=r"^remarks\[0\] = (np\.)?True_?: must be a text"):
        BufferRow(1e11, 5.0, 44_032, remarks=np.array([True, False]))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^table = '': must be the path of a file"):
        audit_headroom("")
    with pytest.raises(ValueError, match=r"^native = b'x': must be True or False"):
        read_scenario("", native=b"x")  # type: ignore[arg-type]
