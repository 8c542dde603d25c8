"""Commands on lossless networks, and topologies in files."""

from __future__ import annotations

import json
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest

from benchmarks.many_flows import fat_tree_scenario
from dfcmodel import (
    PFC,
    Fabric,
    Fluid,
    Packets,
    PauseDatasheet,
    headroom,
    headroom_table,
    permutation,
    save_scenario,
    scenario_schema,
    simulate,
)
from dfcmodel.lossless import (
    PausedGroups,
    Route,
    deadlock,
    dragonfly,
    fat_tree,
    headroom_pool,
    leaf_spine,
    longest_blocking,
    overflow,
    torus,
    with_hosts,
    worst_demand,
)
from dfcmodel.lossless.topologies.topology_files import (
    KEYS,
    OF_A_SCENARIO,
    load_topology,
    read_topology,
)
from dfcmodel.network.scenario_files.toml_reading import read_scenario
from responsefn import FixedRate
from tests.surface import invoke

# ``hopflow headroom``, ``pool`` and ``deadlock`` on the command line.


def test_command_prints_the_parts_and_json(tmp_path) -> None:
    arguments = ["headroom", "--rate", "400Gbps", "--cable", "300m", "--cell", "192"]
    shown = invoke(arguments, catch_exceptions=False)
    assert "225,792 B (1,176 cells)" in shown.output
    plot = tmp_path / "parts.png"
    made = invoke([*arguments, "--json", "--plot", str(plot)])
    assert json.loads(made.output)["bytes"] == headroom("400Gbps", "300m", cell=192).bytes
    assert plot.stat().st_size > 1000


def test_ranges_of_all_inputs_and_the_velocity_are_those_of_the_function() -> None:
    arguments = ["headroom", "--rate", "400Gbps", "--cable", "300m", "--cell", "192", "--json"]
    ranges = ["--small-packets", "0..0.5", "--velocity", "1.9e8..2e8"]
    made = invoke([*arguments, *ranges], catch_exceptions=False)
    found = headroom(
        "400Gbps", "300m", cell=192, small_packets=(0.0, 0.5), datasheet=PauseDatasheet(velocity=(1.9e8, 2e8))
    )
    assert json.loads(made.output)["bytes"] == list(found.bytes)
    assert found.bytes[0] == headroom("400Gbps", "300m", cell=192).bytes < found.bytes[1]


def test_several_rates_and_cables_are_a_table(tmp_path) -> None:
    rates, cables = ["100Gbps", "400Gbps"], ["30m", "100m..300m"]
    arguments = ["headroom", "--rate", rates[0], "--rate", rates[1], "--cell", "192"]
    arguments += ["--cable", cables[0], "--cable", cables[1]]
    table = headroom_table(rates, ["30m", ("100m", "300m")], cell=192)
    shown = invoke(arguments, catch_exceptions=False)
    assert shown.output == f"{table}\n"
    made = invoke([*arguments, "--json"], catch_exceptions=False)
    found = json.loads(made.output)["bytes"]
    assert found["400Gbps"]["30m"] == headroom("400Gbps", "30m", cell=192).bytes
    assert found["100Gbps"]["100m..300m"] == list(table.loc["100Gbps", "100m..300m"])
    arguments += ["--plot", str(tmp_path / "parts.png")]
    with pytest.raises(ValueError, match=r"plot = .*one rate and one cable"):
        invoke(arguments, catch_exceptions=False)


POOL = {
    "--headroom": "80 kB", "--rate": "100Gbps", "--ports": "4", "--classes": "2", "--size": "300 kB",
    "--shared": "1 MB", "--xoff": "100 kB",
}  # fmt: skip


def test_a_pool_is_that_of_the_functions(tmp_path) -> None:
    arguments = ["pool", *(part for pair in POOL.items() for part in pair), "--blocked", "12us"]
    pool = headroom_pool(80e3, 4, 2, size=300e3, shared=1e6, xoff=100e3, rate="100Gbps")
    worst, times, risk = (
        worst_demand(pool, blocked=12e-6),
        longest_blocking(pool),
        overflow(pool, PausedGroups(0.01)),
    )
    shown = invoke(arguments, catch_exceptions=False)
    assert "no, proved" in shown.output
    assert f"blocked up to {times.safe * 1e6:.4g} us" in shown.output
    plot = tmp_path / "pool.png"
    made = invoke([*arguments, "--json", "--plot", str(plot)])
    found = json.loads(made.output)
    assert found["demand"] == {"reached": worst.lower, "at_most": worst.upper, "overflows": False}
    assert found["blocked"] == times._asdict()
    assert found["probability"]["overflow"] == risk.probability
    assert plot.stat().st_size > 1000


def test_a_pool_of_all_headrooms_overflows_after_no_time() -> None:
    arguments = ["pool", *(part for pair in {**POOL, "--size": "640 kB"}.items() for part in pair)]
    shown = invoke(arguments, catch_exceptions=False).output
    assert "blocked for any time: no overflow, proved" in shown
    assert "reached\n" not in shown.split("blocked for any time")[1]
    assert "8 groups, each paused 0.01 of the time, independently of the others:" in shown


def test_limits_of_a_pool_are_not_those_of_its_probability() -> None:
    arguments = ["pool", *(part for pair in POOL.items() for part in pair), "--active-classes", "1"]
    shown = invoke(arguments, catch_exceptions=False).output
    assert "4 ports, 1 class each" in shown
    assert "independently of the others and of the limits above:" in shown


def test_deadlock_of_a_topology_file(tmp_path) -> None:
    """A ring of four switches: its cycle is named; with a spine and up-down routes there is none."""
    ring, free = tmp_path / "ring.toml", tmp_path / "free.toml"
    ring.write_text('cables = [["a", "b"], ["b", "c"], ["c", "d"], ["d", "a"]]')
    free.write_text('cables = [["a", "s"], ["b", "s"]]\nflows = [{path = ["a", "s", "b"]}]')
    shown = invoke(["deadlock", str(ring)], catch_exceptions=False)
    assert "a->b, b->c, c->d, d->a" in shown.output
    plot = tmp_path / "ring.png"
    made = invoke(["deadlock", str(free), "--json", "--plot", str(plot)], catch_exceptions=False)
    assert json.loads(made.output) == {"free": True, "cycles": [], "routing": "1 route"}
    assert plot.stat().st_size > 1000


@pytest.mark.parametrize(
    ("discipline", "priorities", "routing"),
    [
        ('"PFC"', (3, 3, 3), "3 routes; no link pauses 3 of them, of priority 3"),  # PFC pauses class 0 by default
        ('{kind = "PFC", classes = [3], xoff = 30, xon = 15}', (1, 3, 0), "no link pauses 2 of them, of priority 0, 1"),
        ('{kind = "PFC", classes = [3], xoff = 30, xon = 15}', (3, 3, 3), "3 routes\n"),
        ('{kind = "Pause", high = 50, low = 25}', (1, 2, 3), "3 routes\n"),
    ],
)
def test_flows_that_no_link_pauses_are_named(tmp_path, discipline, priorities, routing) -> None:
    path = tmp_path / "ring.toml"
    path.write_text(ring_of(discipline, priorities))
    assert routing in invoke(["deadlock", str(path)], catch_exceptions=False).output


def test_a_chip_belongs_to_audits() -> None:
    arguments = ["headroom", "--rate", "400Gbps", "--cable", "100m", "--chip", "tomahawk5"]
    made = invoke(arguments)
    assert made.exit_code == 2
    assert "--chip belongs to `hopflow headroom audit FILE`" in " ".join(made.output.split())


# Topologies beside their published counts, and their deadlocks beside what is known of each.


@pytest.mark.parametrize("k", [2, 4, 6, 8])
def test_a_fat_tree_has_the_switches_of_its_definition(k: int) -> None:
    """5 k^2 / 4 switches with k ports and k^3 / 4 hosts (Al-Fares et al. 2008)."""
    graph = fat_tree(k)
    hosts = dict(graph.nodes(data="hosts"))
    assert len(graph) == 5 * k**2 // 4
    assert sum(hosts.values()) == k**3 // 4
    assert all(graph.out_degree(node) + hosts[node] == k for node in graph)


@pytest.mark.parametrize(("a", "h"), [(2, 1), (4, 2), (6, 3)])
def test_groups_of_a_dragonfly_are_connected_once(a: int, h: int) -> None:
    """a h + 1 groups; h global links at every router (Kim et al. 2008)."""
    graph = dragonfly(a, h)
    assert len(graph) == a * (a * h + 1)
    links = [(low[0], high[0]) for low, high in graph.edges if low[0] != high[0]]
    assert len(links) == len(set(links)) == (a * h + 1) * a * h
    assert all(degree == a - 1 + h for _, degree in graph.out_degree)


def test_a_torus_is_regular() -> None:
    graph = torus([3, 4, 5])
    assert len(graph) == 60
    assert all(degree == 6 for _, degree in graph.out_degree)
    assert nx.diameter(graph) == 1 + 2 + 2


def test_trees_are_free_and_rings_are_not() -> None:
    """Shortest paths of fat trees and leaf-spine fabrics only go up and down."""
    assert deadlock(fat_tree(6)).is_free
    assert deadlock(leaf_spine(5, 3)).is_free
    assert not deadlock(torus([4, 4])).is_free
    assert not deadlock(dragonfly(4, 2)).is_free


def test_a_leaf_spine_fabric_with_a_failed_link_can_bounce() -> None:
    """Shortest paths from the cut-off leaf to itself do not exist, so they stay free; detours that bounce
    from spine to leaf to spine make cycles (Shpiner et al. 2016).
    """
    graph = leaf_spine(3, 2)
    graph.remove_edges_from([(("leaf", 0), ("spine", 0)), (("spine", 0), ("leaf", 0))])
    assert deadlock(graph).is_free
    leaf, spine = ([(kind, i) for i in range(3)] for kind in ("leaf", "spine"))
    bounces = [
        [leaf[1], spine[0], leaf[2], spine[1], leaf[0]],
        [leaf[2], spine[1], leaf[1], spine[0], leaf[2]],
        [leaf[1], spine[1], leaf[2], spine[0], leaf[1]],
        [leaf[2], spine[0], leaf[1], spine[1], leaf[0]],
    ]
    found = deadlock(graph, bounces)
    assert not found.is_free


def test_hosts_are_nodes_with_one_cable_each() -> None:
    graph = with_hosts(fat_tree(8))
    hosts = [("host", n) for n in range(128)]
    assert set(graph) - set(fat_tree(8)) == set(hosts)
    assert all(graph.out_degree(host) == graph.in_degree(host) == 1 for host in hosts)
    assert all(graph.out_degree(node) == 8 for node in fat_tree(8))


@pytest.mark.slow
def test_a_thousand_flows_over_a_fat_tree_of_128_hosts_run_in_the_fluid_and_in_packets() -> None:
    """Balance in both; no link above its rate; both see the same queues.

    Hosts without interfaces: with them, the default, the queues correlate by 0.72.
    """
    scenario = fat_tree_scenario()
    flows = [replace(flow, host="unshaped") for flow in scenario.flows]
    scenario = replace(scenario, flows=flows)
    runs = [simulate(scenario, method, sample=5e-4) for method in (Fluid(), Packets(seed=1))]
    rates = dict.fromkeys(scenario.senders, 0.0)
    for link in scenario.links:
        rates[link.source] += link.rate
    for run in runs:
        assert run.imbalance.max() <= 1e-12
        assert run.status.ok
        assert (run.delivered[:, -1] > 0.0).mean() > 0.95
        used = run.carried.sum(axis=0) / scenario.duration / np.array(list(rates.values()))
        assert used.max() <= 1.0 + 1e-9
    # the same queues are long; when they overflow, and so how much is lost at each (0.5), is chance
    assert np.corrcoef([run.mean_queue.sum(axis=0) for run in runs])[0, 1] > 0.85
    assert np.corrcoef([run.carried.sum(axis=0) for run in runs])[0, 1] > 0.98
    # the fluid's ACKs do not queue behind the packets of the other direction: it delivers more
    sent = [run.delivered[:, -1].sum() for run in runs]
    assert sent[1] < sent[0] < 1.5 * sent[1]


# Topologies from TOML files.


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


def test_the_scenario_of_a_fabric_is_a_topology(tmp_path) -> None:
    """Its nodes are tuples, which files have as lists."""
    fabric = Fabric(leaf_spine(2, 2, hosts=2), discipline=PFC(counts="switch"))
    flows = permutation(fabric.hosts, 1, sizes=5, source=FixedRate(), links=fabric.links)
    file = save_scenario(fabric.scenario("permutation", flows, duration=1e-3), tmp_path / "fabric.toml")
    graph, routes = load_topology(file)
    assert set(graph.edges) == set(fabric.graph.edges)
    assert [tuple(route.nodes) for route in routes or []] == [flow.path for flow in flows]


def test_a_scenario_is_a_topology() -> None:
    assert set(scenario_schema()["properties"]) <= {*KEYS, *OF_A_SCENARIO}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "links, cables: must be given"),
        ('cables = [["a", "b"]]\nroutes = [["a", "b"]]', "key = 'routes': must be one of 'cables'"),
        ('cable = [["a", "b"]]', "did you mean 'cables'"),
        ('cables = [["a"]]', r"cables\[0\] = \['a'\]: must be two nodes"),
        ('cables = [[1, 2], [2, 3], [3, 4], [4, "1"]]', "nodes 1 and '1': must be written alike if they are one node"),
        ('cables = [["a", "b"], ["b ", "c"]]', "nodes 'b' and 'b ': must be written alike"),
        ("cables = 3", "cables = 3: must be a list"),
        (
            'cables = [["a", "b"], ["a", "b"]]',
            r"cables\[1\]: the link 'a' -> 'b' is given twice: parallel links are one link with the sum of their rates",
        ),
        ('links = [{source = "a"}]', r"links\[0\].*a source and a target"),
        ('cables = [["a", "b"]]\nhosts = ["c"]', r"hosts\[0\] = 'c': no link"),
        ('cables = [["a", "b"]]\nflows = [{}]', r"flows\[0\] = \{\}: must have a path"),
        ('cables = [["a", "b"]]\nflows = [{path = ["a", "b"], priority = 1.5}]', "whole number"),
        (
            'cables = [["a", "b"]]\nflows = [{path = ["a", "b"], priority = true}]',
            "priority of flows.0. = True",
        ),
        (
            'cables = [["a", "b"]]\nflows = [{path = ["a", "b"], priority = nan}]',
            "priority of flows.0. = nan",
        ),
        (
            'cables = [["a", "b"]]\nflows = [{path = ["a", "b"], priorty = 1}]',
            "key of flows.0. = 'priorty'",
        ),
        ('cables = [["a", "b"]]\nflow = {priorty = 1}', "key of flow = 'priorty'"),
        ('cables = [["a", "b"]]\nlink = {raet = 1}', "key of link = 'raet'"),
        (
            'links = [{source = "a", target = "b", bidirectional = true}]',
            "key of links.0. = 'bidirectional'",
        ),
        ('cables = [["a", nan]]', r"cables\[0\]: node nan: must be a string, a whole number, or a list with a number"),
        ('cables = [["a", true]]', r"cables\[0\]: node True"),
        ('links = [{source = "a", target = ["b"]}]', r"links\[0\]: node \['b'\]"),
        ('links = [{source = "a", target = ["b", "c"]}]', r"links\[0\]: node \['b', 'c'\]"),  # two of them, or one
        ('cables = [["a", "b"]]\nhosts = [[1]]', r"hosts: node \[1\]"),
        ('cables = [["a", "b"]]\nflows = [{path = ["a", {}]}]', r"path of flows\[0\]: node \{\}"),
        ('cables = [["a", "b"]]\nflows = [{path = ["a"]}]', "at least two nodes"),
        ("a = " + "[" * 5000, "nested too deeply"),
        ("a." * 100_000 + "b = 1", "line 1: a key of more than 256 parts"),
        ("#" + "x" * 2**22, "must have at most 4194304 bytes"),
    ],
)
def test_wrong_files_are_refused_by_key(tmp_path, text: str, said: str) -> None:
    path = tmp_path / "net.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=said) as error:
        load_topology(path)
    assert str(path) in str(error.value)
    path.write_bytes(b"cables = \xff")
    with pytest.raises(ValueError, match="line 1: must be UTF-8 text"):
        load_topology(path)


def test_a_default_priority_further_paths_and_loops_are_routes(tmp_path) -> None:
    """Four flows around a ring deadlock in one class only; so does one that loops."""
    ring = 'cables = [["a", "b"], ["b", "c"], ["c", "d"], ["d", "a"]]\n'
    flows = ", ".join(f'{{path = ["{p[0]}", "{p[1]}", "{p[2]}"]}}' for p in ("abc", "bcd", "cda", "dab"))
    path = tmp_path / "net.toml"
    path.write_text("\ufeffflow = {priority = 1}\n" + ring + f"flows = [{flows}]", encoding="utf-8")
    graph, routes = load_topology(path)
    assert {route.classes for route in routes} == {1}
    assert not deadlock(graph, routes).is_free
    one = flows.replace('"b"]}', '"b"], priority = 2}')
    assert deadlock(*read_topology(ring + f"flows = [{one}]")).is_free
    spread = '{path = ["a", "b", "c"], paths = [["a", "d", "c"]]}'
    assert len(read_topology(ring + f"flows = [{spread}]")[1]) == 2
    loop = '{path = ["a", "b", "c", "b"], ttl = 9}'
    assert not deadlock(*read_topology(ring + f"flows = [{loop}]")).is_free
    with pytest.raises(ValueError, match=r"path of flows\[0\] = .*: ends at 'b', which it has visited: give ttl"):
        read_topology(ring + f"flows = [{loop.replace(', ttl = 9', '')}]")  # it was a loop, of which nothing was said
    assert deadlock(
        *read_topology(ring + 'flows = [{path = ["a", "b", "c", "b", "x"]}]\nlinks = [{source = "b", target = "x"}]')
    ).is_free


def ring_of(discipline: str, priorities: tuple[int, int, int]) -> str:
    """Return a ring of three links and three flows at nearly line rate, each over two of them."""
    flows = ", ".join(
        f'{{name = "{n}", path = ["{p[0]}", "{p[1]}", "{p[2]}"], source = {{kind = "CBR", rate = 900.0}}, priority = {priority}}}'
        for n, (p, priority) in enumerate(zip(("abc", "bca", "cab"), priorities, strict=True))
    )
    links = ", ".join(f'{{source = "{a}", target = "{b}"}}' for a, b in ("ab", "bc", "ca"))
    return f"""
        name = "ring"
        duration = "1 s"
        links = [{links}]
        flows = [{flows}]
        link = {{rate = 1000.0, delay = "1 ms", buffer = 1000, discipline = {discipline}}}
        flow = {{host = "unshaped"}}
    """


@pytest.mark.parametrize(
    ("discipline", "priorities", "is_free"),
    [
        ('{kind = "Pause", high = 50, low = 25}', (1, 2, 3), False),  # one queue, which is paused as a whole
        ('{kind = "PFC", classes = [3], xoff = 30, xon = 15}', (3, 3, 3), False),
        ('{kind = "PFC", classes = [3, 4], xoff = 30, xon = 15}', (3, 3, 4), True),
        ('{kind = "PFC", classes = [3], xoff = 30, xon = 15}', (1, 1, 1), True),  # not a lossless class
        ('"FIFO"', (1, 1, 1), True),
        ('"BFC"', (1, 1, 1), True),
    ],
)
def test_the_discipline_of_a_link_says_what_waits_for_it(discipline, priorities, is_free) -> None:
    text = ring_of(discipline, priorities)
    assert deadlock(*read_topology(text)).is_free is is_free
    run = simulate(read_scenario(text), Packets(seed=1))
    assert str(run.status).startswith("deadlocked") is not is_free


def test_a_route_is_divided_before_a_link_that_does_not_pause() -> None:
    """The ring a, b, c of pauses is cut where c -> a is FIFO: what comes over b -> c never waits for it."""
    text = ring_of('{kind = "Pause", high = 50, low = 25}', (1, 2, 3))
    cut = text.replace('source = "c", target = "a"', 'source = "c", target = "a", discipline = "FIFO"')
    graph, routes = read_topology(cut)
    assert deadlock(graph, routes).is_free
    assert [list(route.nodes) for route in routes] == [["a", "b", "c"], ["b", "c"], ["c", "a"], ["c", "a", "b"]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            'cables = [["a", "b"]]\nlink = {discipline = "FIFO"}',
            "discipline of a->b: pauses no class of traffic: give the flows",
        ),
        ('cables = [["a", "b"]]\nlink = {discipline = "PFD"}', "discipline of link = 'PFD': must be one of"),
        (
            'cables = [["a", "b"]]\nlink = {discipline = {kind = "PFC", classes = [9]}}',
            "discipline of link: classes = 9",
        ),
    ],
)
def test_disciplines_that_say_nothing_of_pauses_are_refused(text, message) -> None:
    with pytest.raises(ValueError, match=message):
        read_topology(text)


@pytest.mark.parametrize("repeated", ["a.", '"a".', "'a'.", "a", '"', "'", ".", " ", "[", "{", "-", "1", "a=1\n", "\\"])
def test_a_hundred_thousand_repeated_characters_are_read_or_refused(repeated: str) -> None:
    many = repeated * (100_000 // len(repeated))
    for text in (many, "cables = " + many, f'cables = [["{many}'):
        with pytest.raises(ValueError, match=r"\w"):
            read_topology(text)
