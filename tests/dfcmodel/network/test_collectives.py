"""Tables of flows between given ends: ends, options, and the errors of `Flow`."""

from __future__ import annotations

import numpy as np
import pytest

from dfcmodel import CBR, Flow, all_to_all, chain, flows_from, from_networkx, incast, permutation
from dfcmodel.lossless import leaf_spine, with_hosts
from responsefn import NewReno

LINKS = from_networkx(with_hosts(leaf_spine(2, 2, hosts=4)), rate=1e6, delay=1e-6, buffer=100.0)
HOSTS = [("host", n) for n in range(8)]
GIVEN = {"source": CBR(1e6), "links": LINKS}


def ends(flows: object) -> list[tuple]:
    """Return sources and targets."""
    return [(flow.path[0], flow.path[-1]) for flow in flows]


def test_collectives_have_their_pairs() -> None:
    assert ends(all_to_all(HOSTS, **GIVEN)) == [(a, b) for a in HOSTS for b in HOSTS if a != b]
    assert ends(incast(HOSTS, HOSTS[3], **GIVEN)) == [(a, HOSTS[3]) for a in HOSTS if a != HOSTS[3]]
    pairs = ends(permutation(HOSTS, rng=4, **GIVEN))
    assert all(a != b for a, b in pairs)
    sources, targets = zip(*pairs, strict=True)
    assert len(set(sources)) == len(set(targets)) == len(pairs)
    assert pairs != ends(permutation(HOSTS, rng=5, **GIVEN))
    assert len(permutation(HOSTS[:2], rng=1, **GIVEN)) == 2  # the identity is shifted


def test_options_are_one_for_all_or_one_for_each() -> None:
    flows = flows_from(
        HOSTS[:3], HOSTS[3:6], [1, 2, np.inf], np.array([0.0, 0.5, 0.5]),
        source=[CBR(1.0), NewReno(), CBR(1.0)], links=LINKS, priority=np.array([1, 0, 1]), names=["a", "b", "c"],
        host="direct",
    )  # fmt: skip
    expected = [
        Flow("a", flows[0].path, CBR(1.0), size=1.0, start=0.0, priority=1, host="direct"),
        Flow("b", flows[1].path, NewReno(), size=2.0, start=0.5, priority=0, host="direct"),
        Flow("c", flows[2].path, CBR(1.0), start=0.5, priority=1, host="direct"),
    ]
    assert list(flows) == expected
    paths = [(HOSTS[0], ("leaf", 0), HOSTS[1])]
    assert flows_from(HOSTS[:1], HOSTS[1:2], routes=paths, **GIVEN)[0].path == paths[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sizes": [5, 5, 0.5]}, "size of flow .*host', 2.* = 0.5: must be"),
        ({"sizes": [5, 5.5, 5]}, "size of flow .*host', 1.* = 5.5: must be a whole number"),
        ({"starts": np.array([0.0, -1.0, 0.0])}, "start of flow .*host', 1.* = -1"),
        (
            {"starts": np.array([0.0, 3.0, 0.0]), "stop": 2.0},
            "stop of flow .*host', 1.* = 2: must be",
        ),
        ({"starts": np.nan}, "start of flow .*host', 0.*nan"),
        ({"sizes": "many"}, "size of flow .*host', 0.*many"),
        ({"max_window": 0.5}, "max_window of flow .*host', 0.* = 0.5"),
        ({"priority": [0, 0.5, 1]}, "priority of flow .*host', 1.* = 0.5"),
        ({"host": ["nic", "nic", "cloud"]}, "host of flow .*host', 2.*cloud"),
        ({"delayed_acks": 3}, "delayed_acks of flow .*host', 0.* = 3"),
        ({"pacing": True}, "pacing of flow .*host', 0.* = True: must be False"),
        ({"idle": 0.5, "sizes": 5}, "idle of flow .*host', 0.* must be inf"),
        ({"source": 3}, "source of flow .*host', 0.* = 3: must be a window rule"),
        ({"rate": 5}, "option = 'rate': must be one of"),
        ({"sizes": [1, 2]}, "size: 2 values, must be one, or one for each of 3 flows"),
        ({"names": ["a"]}, "names: 1 values"),
        ({"routes": "longest"}, "routes = 'longest': must be one of"),
        ({"routes": [HOSTS[:2]] * 3}, r"routes\[0\].*must begin with"),
        ({"links": ()}, "links = .*at least one link"),
    ],
)
def test_what_a_flow_refuses_a_table_refuses(options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        flows_from(HOSTS[:3], HOSTS[3:6], **{**GIVEN, **options})


def test_ends_are_checked() -> None:
    with pytest.raises(ValueError, match=r"sources\[1\] = 'x': must be a node of the links"):
        flows_from([HOSTS[0], "x"], HOSTS[1:3], **GIVEN)
    with pytest.raises(ValueError, match=r"targets\[0\] = .*: must differ from its source"):
        flows_from(HOSTS[:1], HOSTS[:1], **GIVEN)
    with pytest.raises(ValueError, match="2 sources and 1 targets"):
        flows_from(HOSTS[:2], HOSTS[:1], **GIVEN)
    with pytest.raises(TypeError, match=r"sources\[0\] = \[\]: a node must be hashable"):
        flows_from([[]], HOSTS[:1], **GIVEN)
    with pytest.raises(TypeError, match="hosts = 5: must be a list of nodes"):
        all_to_all(5, **GIVEN)
    with pytest.raises(ValueError, match=r"hosts = .*at least two nodes"):
        all_to_all(HOSTS[:1], **GIVEN)
    with pytest.raises(ValueError, match="must not visit a node twice"):
        flows_from(
            [1],
            [3],
            source=CBR(1.0),
            links=chain(3, rate=1.0, delay=1.0, buffer=5),
            routes=[(1, 2, 1, 3)],
        )
