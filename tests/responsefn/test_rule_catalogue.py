"""The catalogue of rules and their parameters."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import responsefn
from responsefn import (
    AIMD,
    BBR,
    BIC,
    CTCP,
    CUBIC,
    DCQCN,
    DCTCP,
    FAST,
    HPCC,
    HSTCP,
    HTCP,
    NSCC,
    PFTK,
    TFRC,
    TIMELY,
    Allegro,
    BBRv1,
    Copa,
    DirectSimulation,
    FixedRate,
    Gilbert,
    NewReno,
    NS2Vegas,
    Reno,
    Scalable,
    Swift,
    Vegas,
    Vivace,
    catalogue,
    hystart,
    linux,
    simulate_curve,
    simulate_rule,
)
from responsefn.linux import LinuxVegas
from responsefn.rules.index import RULES
from tests.surface import for_each, invoke


def test_catalogue():
    table = catalogue()
    names = {type(entry).__name__ for entry in table.entries}
    assert names == RULES.keys() - {"NS2Vegas"}  # whose response is that of a Vegas
    assert names >= {
        "Tahoe", "Reno", "NewReno", "AIMD", "Vegas", "HSTCP", "Scalable", "BIC", "CUBIC", "HTCP", "Illinois",
        "Westwood", "ARENO", "CTCP", "FAST", "Fusion", "Relentless", "DCQCN", "DCTCP", "TIMELY", "PatchedTIMELY",
        "HPCC", "FixedRate", "BBR", "BBRv1", "LEDBAT", "Copa", "Swift", "Vivace", "Allegro", "NSCC", "Prague",
        "LinuxBIC", "LinuxCUBIC", "LinuxHSTCP", "LinuxHTCP", "LinuxIllinois", "LinuxScalable", "LinuxVegas",
        "LinuxCDG", "LinuxHybla", "LinuxLP", "LinuxNV", "LinuxVeno", "LinuxYeAH", "QUICNewReno", "ChromiumCUBIC",
        "ABE", "LEDBATpp", "SEARCH", "WestwoodPlus", "TFRC", "PFTK", "Mathis",
    }  # fmt: skip
    assert all("source: " in entry.cite() for entry in table.entries)
    laws = {type(entry).__name__ for entry in catalogue("law").entries}
    assert laws >= {"TFRC", "PFTK", "Mathis"}
    assert "Reno" not in laws
    page = table._repr_html_()
    assert page.count("<tr>") == len(table.entries) + 1
    assert r"\sqrt" in page
    assert "numerical cycle" in repr(table)
    assert NewReno().cite() != Reno().cite()


def test_rules_of_operating_systems_repair_losses_by_sack() -> None:
    """Linux and Windows have SACK switched on; RFC 6675 is one of RFC 9438's recoveries. Others say so themselves."""
    kinds = {type(entry) for entry in catalogue().entries if hasattr(entry, "recovery")} | {NS2Vegas}
    others = {kind.__name__: kind.recovery for kind in kinds if kind.recovery != "sack"}
    assert others.items() >= {
        "Tahoe": "tahoe", "Reno": "reno",
        **dict.fromkeys(("NewReno", "AIMD", "Vegas", "NS2Vegas", "Westwood", "FAST", "ARENO", "Fusion"), "newreno"),
    }.items()  # fmt: skip
    of_systems = {
        "CUBIC",
        "BIC",
        "HSTCP",
        "Scalable",
        "HTCP",
        "Illinois",
        "CTCP",
        "DCTCP",
        *linux.__all__,
    }
    assert of_systems <= {kind.__name__ for kind in kinds} - others.keys()


def test_rules_are_found_by_the_names_of_their_classes() -> None:
    for entry in catalogue().entries:
        name = type(entry).__name__
        command = ["response", name.lower(), "--p", "0.01", "--rtt", "40ms", "--json"]
        found = invoke([*command, "--bandwidth", "1Mbps"])
        if str(found.exception).startswith("--bandwidth: is for rules that depend on a queue"):
            found = invoke(command)
        if found.exit_code == 0:
            assert list(json.loads(found.stdout)["rate"]) == [repr(type(entry)())], name
        else:
            assert str(found.exception).startswith(repr(type(entry)())), name
    with pytest.raises(ValueError, match=r"^rule = 'rno': .*such as 'reno'"):
        invoke(["response", "rno"], catch_exceptions=False)


def hystart_of_reno(**given):
    return hystart(Reno(), **given)


BUILDS = [
    (lambda: CUBIC(C=0.0), "^C = 0"),
    (lambda: CUBIC(beta=1.0), "^beta = 1"),
    (lambda: BIC(b=1.1), "^b = 1.1.* <= 1"),
    (lambda: CTCP(b=0.0), "^b = 0.*> 0 and <= 1"),
    (lambda: Scalable(b=-1.0), "^b = -1.*> 0 and <= 1"),
    (lambda: CUBIC(fast_convergence=2), "^fast_convergence = 2"),
    (lambda: Vegas(alpha=3.0, beta=1.0), "^beta = 1"),
    (lambda: Gilbert(0.5), "^burst = 0.5"),
    (lambda: Gilbert(9.0).gaps(0.95, 10, np.random.default_rng(0)), "^p = 0.95"),
    (lambda: simulate_rule(Reno(), 0.0, 0.1), "^p = 0"),
    (lambda: simulate_rule(Reno(), 0.1, 0.1, events=3), "^events = 3"),
    (lambda: simulate_rule(Reno(), [0.1, 0.2], 0.1), r"^p = \[0.1, 0.2\]: one number"),
    (lambda: simulate_rule(Reno(), 0.1, 48.0), r"^rtt = 48.*unit_check=False"),
    (lambda: simulate_curve(Reno(), [[0.1]], 0.1), r"^p has shape \(1, 1\)"),
    (lambda: simulate_curve(Reno(), [0.1, 0.0], 0.1), "^p = 0"),
    (
        lambda: simulate_curve(Reno(), [0.1, 0.2, 0.3], 0.1, events=[99, 99]),
        r"^events = \(99, 99\)",
    ),
    (
        lambda: simulate_rule(Reno(), 0.1, 0.1, options=DirectSimulation(method="fast")),
        "^method = 'fast'",
    ),
    (
        lambda: simulate_rule(Reno(), 0.1, 0.1, options=DirectSimulation(buffer=3.0)),
        "^bandwidth is missing",
    ),
    (
        lambda: simulate_rule(HTCP(), 0.1, 0.1, options=DirectSimulation(method="cycles")),
        "^method = 'cycles': .*HTCP",
    ),
    (
        lambda: simulate_rule(Reno(), 0.1, 0.1, Gilbert(), options=DirectSimulation(method="cycles")),
        "^method = 'cycles'",
    ),
]


@for_each(BUILDS)
def test_wrong_calls_are_refused(build, match):
    with pytest.raises(ValueError, match=match):
        build()


NO_NUMBERS = (math.nan, "one", "1.0", None, [1.0, 2.0], np.ones(1))
OUT_OF_RANGE = {
    AIMD: {"a": (0.0, -1.0, math.inf, *NO_NUMBERS), "b": (0.0, 1.0001, -0.5, 1.5, *NO_NUMBERS), "form": ("exact",)},
    Reno: {"form": ("exact",)},
    NewReno: {"form": ("exact",)},
    BIC: {"b": (0.0,)},
    Scalable: {"a": (-1.0,), "form": ("other",)},
    HSTCP: {"form": ("other",)},
    CTCP: {"k": (1.0,)},
    DCTCP: {"g": (0.0,)},
    FAST: {"gamma": (2.0,)},
    Vegas: {"alternate": (2,), "averaged": (2,), "by_rounds": (2,), "min_window": (0.5,)},
    NS2Vegas: {"gamma": (0.0,)},
    LinuxVegas: {"step": (0.0,)},
    TFRC: {"form": ("rfc",), "rto": (0.0, -1.0, math.nan, 200.0, "long"),
        "packets_per_ack": (0.0, 0.5, -1, math.nan, None)},
    PFTK: {"form": ("short",), "rto": (0.0, -1.0, math.nan, 200.0, "long"),
        "packets_per_ack": (0.0, 0.5, -1, math.nan, None)},
    BBR: dict.fromkeys(("loss_threshold", "beta", "headroom", "up_gain"), (-1.0,))
        | {"min_rtt_window": (-1.0, 10_000.0), "probe_rtt_interval": (5000.0,), "probe_rtt_duration": (200.0,)},
    BBRv1: dict.fromkeys(("pacing_margin", "probe_packets", "aggregated", "min_rtt_tick", "extra_acked_rounds"),
        (-1.0,)) | {"min_rtt_window": (10_000.0,), "probe_rtt_duration": (200.0,)},
    Copa: {"delta": (0.0,), "competitive": (2,), "voted": (2,)},
    Swift: {"beta": (2.0,), "fs_max_cwnd": (0.05,), "ai": (math.nan,)},
    NSCC: dict.fromkeys(("base_rtt", "bdp", "max_md_jump", "gamma", "qa_gate"), (-1.0,)),
    Allegro: {"steepness": (0.0,), "threshold": (0.0, 1.0), "step": (0.0, 0.2), "doubling": (2,)},
    Vivace: {"exponent": (1.0,), "rtt_weight": (-1.0,), "loss_weight": (-1.0,), "probing": (0.0,),
        "rtt_filter": (-0.1,), "unit_rate": (0.0,)},
    DCQCN: {"g": (0.0,), "timer": (-1.0, 55.0), "alpha_timer": (55.0,), "notification": (50.0,), "stages": (0.5, 2.5), "additive": (0.0,), "counter": ([1.0],),
        "remembers": (2,)},
    HPCC: {"base_rtt": (0.0, 13.0), "eta": (1.0,), "max_stage": (-1.0, 2.5), "additive": (0.0,)},
    TIMELY: {"beta": (0.0,), "t_low": (50.0,), "t_high": (1e-6, 500.0), "min_rtt": (20.0,), "segment": (0.5,)},
    FixedRate: {"sending_rate": (0.0, -1.0, math.nan, "fast", None, [1.0, 2.0])},
    hystart_of_reno: {"css_growth_divisor": (1.0,), "max_rtt_thresh": (1e-3,), "n_rtt_sample": (math.nan,)},
}  # fmt: skip
"""Values that a parameter cannot have, by rule and parameter."""


@for_each(OUT_OF_RANGE)
def test_a_parameter_out_of_range_is_named_with_its_value(kind):
    for name, values in OUT_OF_RANGE[kind].items():
        for value in values:
            with pytest.raises(ValueError, match=rf"^{name} = ") as said:
                kind(**{name: value})
            assert repr(value) in str(said.value) or not isinstance(value, str)


def test_public_names():
    assert set(responsefn.__all__) <= set(dir(responsefn))
    for name in ("AIMD", "Reno", "NewReno", "Tahoe", "TFRC", "PFTK", "invert", "curve"):
        assert name in responsefn.__all__
        assert getattr(responsefn, name).__doc__


def test_a_rule_says_in_one_of_three_words_whether_it_needs_a_capacity():
    rows = responsefn.catalogue().rows()
    assert {row["capacity"] for row in rows} == {"ignored", "optional", "needed"}
    assert {"ARENO()", "FAST()"} <= {row["name"] for row in rows if row["capacity"] == "needed"}
