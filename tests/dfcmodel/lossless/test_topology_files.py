"""Topologies from TOML files."""

from __future__ import annotations

import pytest

from dfcmodel import scenario_schema
from dfcmodel.lossless import Route
from dfcmodel.lossless.topology_files import KEYS, OF_A_SCENARIO, load_topology, read_topology


def test_cables_are_links_both_ways_and_flows_are_routes() -> None:
    graph, routes = read_topology("""
        cables = [["a", "b"]]
        links = [{source = "b", target = "c"}]
        hosts = ["a", "c"]
        flows = [{path = ["a", "b", "c"], priority = 3}]
    """)
    assert sorted(graph.edges) == [("a", "b"), ("b", "a"), ("b", "c")]
    assert dict(graph.nodes(data="hosts")) == {"a": 1, "b": None, "c": 1}
    assert routes == [Route(["a", "b", "c"], 3)]


def test_a_scenario_is_a_topology() -> None:
    assert set(scenario_schema()["properties"]) <= {*KEYS, *OF_A_SCENARIO}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "links, cables: must be given"),
        ('cables = [["a", "b"]]\nroutes = [["a", "b"]]', "key = 'routes': must be one of 'cables'"),
        ('cable = [["a", "b"]]', "did you mean 'cables'"),
        ('cables = [["a"]]', r"cables\[0\] = \['a'\]: must be two nodes"),
        ("cables = 3", "cables = 3: must be a list"),
        ('links = [{source = "a"}]', r"links\[0\].*a source and a target"),
        ('cables = [["a", "b"]]\nhosts = ["c"]', r"hosts\[0\] = 'c': no link"),
        ('cables = [["a", "b"]]\nflows = [{}]', r"flows\[0\] = \{\}: must have a path"),
        ('cables = [["a", "b"]]\nflows = [{path = ["a", "b"], priority = 1.5}]', "whole number"),
    ],
)
def test_wrong_files_are_refused_by_key(tmp_path, text: str, said: str) -> None:
    path = tmp_path / "net.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=said) as error:
        load_topology(path)
    assert str(path) in str(error.value)
