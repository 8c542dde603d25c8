"""Links as columns: the same links as objects, refused input, and the same runs."""

from __future__ import annotations

import pickle
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dfcmodel import (
    CBR,
    DFC,
    PFC,
    ByteBuffer,
    Flow,
    Fluid,
    Link,
    Links,
    Packets,
    Scenario,
    links_from,
    simulate,
)
from hopflow.equality import same
from responsefn import NewReno
from tests.oracles.engines import plain_simulate

ENDS = ["a", "b", "b", "c"], ["b", "a", "c", "b"]
ONE: dict[str, Any] = {"rate": 1e3, "delay": 1e-3, "buffer": 20.0}
RULES = PFC(xoff=8, xon=4), DFC()


def objects(**options: Any) -> tuple[Link, ...]:
    """Return the links of `ENDS`, each with its value of options that are lists."""
    given: dict[str, Any] = {**ONE, **options}
    return tuple(
        Link(a, b, **{k: v[n] if isinstance(v, list) else v for k, v in given.items()})
        for n, (a, b) in enumerate(zip(*ENDS, strict=True))
    )


@given(
    rates=st.lists(st.sampled_from([1e3, 2e3]), min_size=4, max_size=4),
    buffers=st.lists(st.sampled_from([20.0, ByteBuffer("30 kB")]), min_size=4, max_size=4),
    rules=st.lists(st.sampled_from(RULES), min_size=4, max_size=4),
)
@settings(max_examples=30, deadline=None)
def test_columns_are_their_links(rates: list[float], buffers: list[Any], rules: list[Any]) -> None:
    options: dict[str, Any] = {"rate": rates, "buffer": buffers, "discipline": rules}
    columns, links = links_from(*ENDS, **{**ONE, **options}), objects(**options)
    for found in (columns, Links.of(links), pickle.loads(pickle.dumps(columns))):
        assert found == links
        assert hash(found) == hash(links)
        assert found.names == tuple(link.name for link in links)
        assert found[1:3] == links[1:3]
        assert found[-1] == links[-1]
        assert found.each(lambda link: link.rate).tolist() == rates
        assert found.nodes == ("a", "b", "c")
    order = [columns.kind_of.tolist().index(k) for k in range(len(columns.kinds))]
    assert order == sorted(order)  # an error about a kind names its first link


def test_links_of_columns_are_made_once() -> None:
    links = links_from(*ENDS, **ONE)
    assert links[2] is links[2]
    with pytest.raises(IndexError):
        links[4]


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"rate": [1e3, 1e3, -1.0, 1e3]}, r"rate of link b->c = -1: must be"),
        ({"buffer": [20.0, 0.5, 20.0, 20.0]}, r"buffer of link b->a = 0.5: must be"),
        ({"delay": [1e-3] * 3}, r"delay: 3 values, must be one, or one for each of 4 links"),
        ({"discipline": "DFC"}, r"discipline of link a->b = 'DFC': must be"),
        ({"sources": "abbc"}, r"sources = 'abbc': must be a list of nodes"),
        ({"sources": ["a", "b", "b", "b"]}, r"target of link b->b: must differ from its source"),
        ({"sources": ["a"]}, r"targets: 1 sources and 4 targets, must be as many"),
        ({"sources": ["a", [], "b", "c"]}, r"sources\[1\] = \[\]: a node must be hashable"),
    ],
)
def test_what_is_refused(change: dict[str, Any], error: str) -> None:
    parts = {"sources": ENDS[0], "targets": ENDS[1], **ONE, **change}
    with pytest.raises((ValueError, TypeError), match=error):
        links_from(**parts)


def test_two_links_of_one_name_are_refused() -> None:
    flows = [Flow("f", ("a", "b"), CBR(10.0))]
    for sources, targets in ((["a", "a"], ["b", "b"]), (["a", "a->b"], ["b->c", "c"])):
        with pytest.raises(ValueError, match=r"links: '.*' occurs twice, names must differ"):
            Scenario("twice", links_from(sources, targets, **ONE), flows)


@pytest.mark.parametrize("method", [Fluid(), Packets(seed=1)])
@pytest.mark.parametrize("rule", [*RULES, None])
def test_runs_are_those_of_the_objects(method: Any, rule: Any) -> None:
    options = {} if rule is None else {"discipline": [rule] * 4}
    flows = [Flow("f", ("a", "b", "c"), NewReno()), Flow("g", ("c", "b", "a"), NewReno())]
    columns, plain = (
        simulate(Scenario("x", links, flows), method, duration=0.3)
        for links in (links_from(*ENDS, **{**ONE, **options}), objects(**options))
    )
    assert columns == plain
    if isinstance(method, Packets):
        scenario = Scenario("x", links_from(*ENDS, **{**ONE, **options}), flows)
        oracle = plain_simulate(scenario, method, duration=0.3)
        assert np.array_equal(columns.delivered, oracle.delivered)


def test_columns_are_equal_to_a_tuple_and_named_tuples_to_their_kind_alone() -> None:
    class Other(NamedTuple):
        rate: float

    class One(NamedTuple):
        rate: float

    assert same(links_from(*ENDS, **ONE), objects())
    assert same(objects(), links_from(*ENDS, **ONE))
    assert not same(One(1.0), Other(1.0))
    assert not same(One(np.ones(2)), (np.ones(2),))
    assert not same([1.0], (1.0,))
