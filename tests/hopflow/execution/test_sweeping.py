"""Functions over grids of values: points, results in their places, fingerprints of the code that makes them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from dfcmodel import CBR, Scenario, all_to_all, links_from
from hopflow import Interrupted, sweep
from hopflow.execution.grids import Grid, Row, axis
from hopflow.execution.sweeping import over_grid
from hopflow.sources import is_plain, source_of

# Functions over grids of values: every result in its place, whatever the order.


def products(points):
    for a, b in points:
        yield Row(
            {"product": ((), a * b, {"units": "1"}), "both": (("which",), np.array([a, b]), {})},
            {"which": (("which",), np.array(["a", "b"]), {})},
        )


def grid():
    return Grid({"a": [1.0, 2.0, 3.0], "b": range(4)}, lambda point: (point["a"], point["b"]))


def test_every_result_is_in_its_place():
    with ThreadPoolExecutor(2) as pool:
        found = over_grid(products, grid(), about={"what": "products"}, executor=pool)
    assert found.attrs == {"what": "products"}
    assert found["product"].dims == ("a", "b")
    assert found["both"].dims == ("a", "b", "which")
    assert found["which"].values.tolist() == ["a", "b"]
    np.testing.assert_array_equal(found["product"], np.outer([1.0, 2.0, 3.0], range(4)))
    assert found["both"].sel(a=3.0, b=2, which="b") == 2.0
    assert found.identical(over_grid(products, grid(), about={"what": "products"}))


def test_complete_points_outlive_ctrl_c():
    def interrupted(points):
        for a, b in points:
            if (a, b) == (2.0, 1):
                raise KeyboardInterrupt
            yield Row({"product": ((), a * b, {}), "name": ((), f"{a} {b}", {})}, {})

    with pytest.raises(Interrupted, match="5 of 12 points complete") as error:
        over_grid(interrupted, grid(), about={})
    kept = error.value.result
    assert kept["product"].values.ravel().tolist()[:5] == [0.0, 1.0, 2.0, 3.0, 0.0]
    assert kept["product"].isnull().sum() == 7
    assert kept["name"].values.ravel().tolist()[4:6] == ["2.0 0", None]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"executor": 2}, "^executor = 2: must be an Executor of concurrent.futures"),
        ({"store": 3}, "^store = 3: must be a path that ends in .zarr or .nc"),
    ],
)
def test_what_is_no_executor_and_no_path_is_refused(given, said):
    with pytest.raises(TypeError, match=said):
        over_grid(products, grid(), about={}, **given)


# Functions over grids of values: points in order, coordinates, what is refused.


def test_points_are_in_order_the_last_name_fastest():
    points = grid()
    assert len(points) == 12
    assert list(points)[:5] == [(1.0, 0), (1.0, 1), (1.0, 2), (1.0, 3), (2.0, 0)]
    assert points[11] == (3.0, 3)
    assert list(Grid({}, lambda point: point)) == [{}]


@pytest.mark.parametrize(
    ("values", "said"),
    [(2.0, r"^a = 2\.0: values to sweep"), ("12", "^a = '12'"), ([], r"^a = \[\]: at least one")],
)
def test_what_is_no_list_of_values_is_refused(values, said):
    with pytest.raises(ValueError, match=said):
        Grid({"a": values}, dict)


def test_coordinates():
    assert axis([1, 2.5]) == [1, 2.5]
    assert axis(["a"]) == ["a"]
    assert axis([(1, 2), None]).dtype == object
    assert axis([1, "all"]).tolist() == [1, "all"]  # no numbers as strings
    units = Grid({"a": [1.0], "b": [2]}, dict, {"a": "s"}).coords()
    assert units == {"a": ("a", [1.0], {"units": "s"}), "b": ("b", [2], {})}


# Fingerprints of code: they change with the code that makes a result, and with nothing else.


MODULE = """
from typing import NamedTuple

from dfcmodel import Flow, Scenario, dumbbell
from markov import explore
from responsefn import WindowRule

LIMIT = 20
TABLE = {"rate": 1000.0}


class Base(WindowRule):
    @staticmethod
    def on_ack(s, q, e):
        return s._replace(cwnd=s.cwnd + q.a / s.cwnd)

    @staticmethod
    def on_loss(s, q, e):
        return s._replace(cwnd=s.cwnd * half())


class Mine(Base):
    class Params(NamedTuple):
        a: float = 1.0


def half():
    return 0.5  # of the window


def scenario(buffer=LIMIT):
    links = dumbbell(1, rate=TABLE["rate"], delay=0.01, access_rate=1e5, access_delay=1e-3, buffer=buffer)
    return Scenario("one", links, [Flow("f", ("s1", "left", "right", "d1"), Mine())], duration=0.5)


def moves(s, q):
    if s.n < LIMIT:
        yield s._replace(n=s.n + 1), q.up
    if s.n:
        yield s._replace(n=s.n - 1), 3.0 * q.up


def chain():
    return explore(moves, start={"n": 0}, params={"up": 1.0})


def unused():
    return 3
"""
THINGS = ("scenario", "Mine", "called", "rule", "chain")
CHANGES = {
    "a method": ("q.a / s.cwnd", "2.0 * q.a / s.cwnd", {"scenario", "Mine", "called", "rule"}),
    "a function that a method calls": (
        "return 0.5",
        "return 0.7",
        {"scenario", "Mine", "called", "rule"},
    ),
    "a parameter's default": ("a: float = 1.0", "a: float = 2.0", set(THINGS) - {"chain"}),
    "a constant": ("LIMIT = 20", "LIMIT = 21", {"scenario", "called", "chain"}),
    "a table": ("1000.0}", "1001.0}", {"scenario", "called"}),
    "a comment": ("# of the window", "# of it", set()),
    "a function that is not called": ("return 3", "return 4", set()),
    "rates of a chain": ("3.0 * q.up", "4.0 * q.up", {"chain"}),
}


def loaded(text: str, folder) -> dict[str, Any]:
    file = folder / f"own_models_{hash(text)}.py"
    file.write_text(text)
    space = {"__name__": "own_models", "__file__": str(file)}
    exec(compile(text, str(file), "exec"), space)  # noqa: S102
    return space


def fingerprints(text: str, folder) -> dict[str, str]:
    space = loaded(text, folder)
    made = {
        "called": space["scenario"](),
        "rule": space["Mine"](),
        "chain": space["chain"]().chain.model,
    }
    return {name: source_of(made.get(name, space.get(name))) for name in THINGS}


@pytest.mark.parametrize("what", CHANGES)
def test_a_changed_source_is_noticed_where_it_is_used(what, tmp_path) -> None:
    old, new, where = CHANGES[what]
    assert MODULE.count(old) == 1
    before = fingerprints(MODULE, tmp_path)
    after = fingerprints(MODULE.replace(old, new), tmp_path)
    assert {name for name in THINGS if before[name] != after[name]} == where


def test_what_has_the_same_source_has_the_same_fingerprint(tmp_path) -> None:
    from markov import PauseTandem

    assert fingerprints(MODULE, tmp_path) == fingerprints(MODULE, tmp_path)
    assert source_of(PauseTandem) == source_of(PauseTandem)
    assert source_of(PauseTandem).startswith("PauseTandem ")
    assert source_of(PauseTandem()) != source_of(PauseTandem(rtt=2.0))


def test_a_store_of_another_rule_is_refused(tmp_path) -> None:
    pytest.importorskip("zarr", reason="needs hopflow[scale]")

    def swept(text: str) -> object:
        store = tmp_path / "found.zarr"
        return sweep(loaded(text, tmp_path)["scenario"], buffer=[5], levels="packets", store=store)

    first = swept(MODULE)
    assert swept(MODULE).equals(first)
    with pytest.raises(
        ValueError,
        match=r"is of another sweep: the code of scenario, or a function, class or constant that it leads to, has changed",
    ):
        swept(MODULE.replace("return 0.5", "return 0.7"))


def test_other_values_are_not_taken_for_other_code(tmp_path) -> None:
    """Texts, numbers and seeds of a call are named as what they are; objects among them lead to code."""
    pytest.importorskip("zarr", reason="needs hopflow[scale]")
    scenario = loaded(MODULE, tmp_path)["scenario"]

    def swept(**given: object) -> object:
        options = {"buffer": [5], "seed": 1, **given}
        return sweep(scenario, levels="packets", store=tmp_path / "found.zarr", **options)

    swept()
    with pytest.raises(
        ValueError, match=r"another sweep: buffer: \[5\] there, \[6\] here; sweep further"
    ):
        swept(buffer=[6])
    with pytest.raises(ValueError, match=r"another sweep: seed: 1 there, 2 here$"):
        swept(seed=2)
    assert is_plain([(5, 20), ("5pkt", None)])
    assert not is_plain([(5, loaded)])


def test_columns_of_flows_and_links_are_read() -> None:
    def ring(rate: float, sizes: int) -> Scenario:
        links = links_from([1, 2, 3], [2, 3, 1], rate=rate, delay=1e-3, buffer=50)
        flows = all_to_all((1, 2, 3), sizes=sizes, source=CBR(100.0), links=links)
        return Scenario("ring", links, flows, duration=1.0)

    cases = [(1e4, 10), (1e4, 10), (1e4, 11), (2e4, 10)]
    found = [source_of(ring(*case)) for case in cases]
    assert found[0] == found[1]
    assert len(set(found)) == 3


def test_values_of_arrays_and_tables_are_read() -> None:
    import pandas as pd

    for make in (np.array, pd.Series, lambda values: np.array([*values, None])):
        assert source_of(abs, make([1.0, 2.0])) == source_of(abs, make([1.0, 2.0]))
        assert source_of(abs, make([1.0, 2.0])) != source_of(abs, make([1.0, 3.0]))
