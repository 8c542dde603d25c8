"""Public names and signatures: how many, where they are, what they take, and names that other distributions have."""

from __future__ import annotations

import ast
import csv
import importlib
import inspect
import re
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dfcmodel
import hopflow
import markov
import responsefn
from benchmarks.code_metrics import MAX_PARAMETERS, public_signatures
from dfcmodel import CBR, Flow, Link, Scenario, chain, lossless, simulate, takano2006
from dfcmodel.sharing.bottlenecks import PathOptions, bottleneck_of
from hopflow import mbps
from hopflow.keywords import ELSEWHERE
from hopflow.parameters import declarations_of
from hopflow.public_names import LEFT_OUT, load_moved, new_locations
from hopflow.results import Result
from hopflow.units import quantities_of
from responsefn import HTCP
from tests.surface import PUBLIC, ROOT, for_each, printed_by, python

# Public names: how many there are, where they are, and that old places still have them for one release.


TIDIED = ("hopflow", "responsefn")


def names_of(module: str) -> set[str]:
    """Return the names in ``__all__`` of a module or of its stub."""
    folder = ROOT.joinpath(*module.split("."))
    paths = [path for path in (folder / "__init__.py", folder / "__init__.pyi") if path.exists()]
    return {
        node.value
        for path in paths
        for assignment in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(assignment, ast.Assign) and ast.unparse(assignment.targets[0]) == "__all__"
        for node in ast.walk(assignment.value)
        if isinstance(node, ast.Constant)
    }


OLD = [
    (package, module, name)
    for package in PUBLIC
    for name, (module, write) in new_locations(package).items()
    if write.startswith("from ")
]


def test_public_functions_have_at_most_eight_parameters() -> None:
    """Of the packages that have been tidied."""
    rows = [row for row in public_signatures(ROOT, TIDIED) if not row.is_class]
    assert len(rows) > 30
    assert not {row.name for row in rows if row.parameters > MAX_PARAMETERS}
    assert {row.name for row in rows if row.has_keywords} == {"hopflow.sweep"}  # names of any model's parameters


@for_each(PUBLIC)
def test_names_are_those_of_the_stub_and_can_be_loaded(module: str) -> None:
    loaded = importlib.import_module(module)
    assert set(loaded.__all__) == names_of(module)
    assert set(loaded.__all__) <= set(dir(loaded))
    assert all(hasattr(loaded, name) for name in loaded.__all__)


def test_the_page_on_stability_names_all_public_modules() -> None:
    page = (Path(ROOT) / "docs" / "stability.md").read_text(encoding="utf-8")
    assert [module for module in PUBLIC if f"`{module}`" not in page] == []


def test_a_public_class_has_one_public_module() -> None:
    """Names that `dfcmodel` has from `dfcmodel.lossless`, and errors that two packages share, are exceptions."""
    homes: dict[str, set[str]] = {}
    for module in PUBLIC:
        for name in names_of(module):
            homes.setdefault(name, set()).add(module)
    shared = {"dfcmodel", "dfcmodel.lossless"}, {"markov.errors", "responsefn.errors"}
    twice = {name: where for name, where in homes.items() if len(where) > 1 and where not in shared}
    assert twice.keys() == {"sweep", "from_networkx"}


@for_each(OLD)
def test_an_old_place_gives_the_object_and_the_new_import(package, module, name) -> None:
    with pytest.warns(DeprecationWarning, match=f"write from {module} import {name}$") as said:
        found = getattr(importlib.import_module(package), name)
    assert said[0].filename == __file__
    assert found is getattr(importlib.import_module(module), name)
    assert name not in importlib.import_module(package).__all__


def test_an_old_import_warns_where_it_stands() -> None:
    with pytest.warns(DeprecationWarning, match=r"^markov\.Stationary is deprecated") as said:
        from markov import Stationary
    assert {each.filename for each in said} == {__file__}
    assert Stationary is type(hopflow.stationary(hopflow.MM1K()))


def test_hopflow_has_the_old_names_too() -> None:
    with pytest.warns(DeprecationWarning, match=r"^hopflow\.Trajectory .* dfcmodel\.results") as said:
        found = hopflow.Trajectory
    assert said[0].filename == __file__
    assert found.__module__ == "dfcmodel.results.trajectories"


def test_names_that_became_private_say_what_to_write() -> None:
    import responsefn

    with pytest.warns(DeprecationWarning, match=r"write responsefn\.LossHistory\(n=n\)\.weights$"):
        old = responsefn.interval_weights
    assert old(4).tolist() == responsefn.LossHistory(n=4).weights.tolist()
    assert old().tolist() == responsefn.LossHistory().weights.tolist()
    with pytest.warns(DeprecationWarning, match=r"write 1 / responsefn\.invert\(.*\)$"):
        first = responsefn.first_interval
    rate, rtt = 1000.0, 0.1
    assert first(rate, rtt) == 1 / responsefn.invert(responsefn.TFRC(), rate, rtt)
    assert "first_interval" in new_locations("responsefn")


def test_unknown_names_are_refused() -> None:
    for module in (*PUBLIC, "hopflow"):
        with pytest.raises(AttributeError, match=f"{module.rpartition('.')[2]}.*nothing_at_all"):
            importlib.import_module(module).nothing_at_all  # noqa: B018
    with pytest.raises(AttributeError, match=r"module 'markov' has no attribute 'simulte'"):
        load_moved("markov", "simulte")


# Every public parameter with a unit takes a string; every public function says what it takes.


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
        if each.default is ELSEWHERE and each.annotation == "Any":  # handed on
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
            if parameter in declarations_of(function):
                continue  # `hopflow.parameters.param` states its unit
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
    (lambda: dfcmodel.Packets(failures={"1->2": ("1ms", float("inf")), "2->3": [("1s", "2s"), (3.0, "4s")]}).failures,
     lambda: dfcmodel.Packets(failures={"1->2": (1e-3, float("inf")), "2->3": [(1.0, 2.0), (3.0, 4.0)]}).failures),
    (lambda: dfcmodel.FlowSizes("x", ["0 B", "10kB", 2e6], ["0%", "50%", 1.0]), lambda: dfcmodel.FlowSizes("x", [0, 1e4, 2e6], [0, 0.5, 1])),
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
    (lambda: dfcmodel.coexist(responsefn.Reno(), "40ms", "6Mbps", "20pkt", options=dfcmodel.PathOptions(duration="2s")).share.tolist(),
     lambda: dfcmodel.coexist(responsefn.Reno(), 0.04, 500.0, 20, options=dfcmodel.PathOptions(duration=2.0)).share.tolist()),
    (lambda: dfcmodel.coexist(responsefn.Reno(), 0.04, 500.0, 20, options=dfcmodel.PathOptions(duration="2s", warm_up="400ms", loss="0.1%"), senders=dfcmodel.SenderOptions(starts="100ms", processing="1ms", ssthresh="15kB", max_window="30pkt", min_rto="300ms")).share.tolist(),
     lambda: dfcmodel.coexist(responsefn.Reno(), 0.04, 500.0, 20, options=dfcmodel.PathOptions(duration=2.0, warm_up=0.4, loss=1e-3), senders=dfcmodel.SenderOptions(starts=0.1, processing=1e-3, ssthresh=10.0, max_window=30.0, min_rto=0.3)).share.tolist()),
    (lambda: responsefn.LEDBAT(target="60ms"), lambda: responsefn.LEDBAT(target=0.06)),
    (lambda: responsefn.BBR(loss_threshold="2%"), lambda: responsefn.BBR()),
    (lambda: responsefn.CUBIC().rate("1%", "40ms"), lambda: responsefn.CUBIC().rate(0.01, 0.04)),
    (lambda: dfcmodel.Packets(loss={"1->2": "1%"}), lambda: dfcmodel.Packets(loss={"1->2": 0.01})),
    (lambda: dfcmodel.RED(max_p="10%"), lambda: dfcmodel.RED(max_p=0.1)),
    (lambda: dfcmodel.RampMarking(max_p="1%"), lambda: dfcmodel.RampMarking()),
    (lambda: dfcmodel.BurstLoss("1->2", "0.1%", "10%"), lambda: dfcmodel.BurstLoss("1->2", 0.001, 0.1)),
    (lambda: lossless.Watchdog("200ms", "400ms", "2s", fraction="50%"), lambda: lossless.Watchdog(0.2, 0.4, 2.0, fraction=0.5)),
    (lambda: lossless.link_retry("400Gbps", "100m", request_loss="1%").request_loss, lambda: 0.01),
    (lambda: lossless.link_retry("400Gbps", "100m").throughput("1%"), lambda: lossless.link_retry("400Gbps", "100m").throughput(0.01)),
    (lambda: lossless.headroom("400Gbps", "100m", cell=192, small_packets="50%", datasheet=lossless.PauseDatasheet(exceeded="0.1%")).bytes,
     lambda: lossless.headroom("400Gbps", "100m", cell=192, small_packets=0.5, datasheet=lossless.PauseDatasheet(exceeded=1e-3)).bytes),
    (lambda: lossless.headroom("400Gbps", "100m", cell=192, small_packets=("0%", "50%")).bytes,
     lambda: lossless.headroom("400Gbps", "100m", cell=192, small_packets=(0.0, 0.5)).bytes),
    (lambda: lossless.credits("400Gbps", "100m", credit=192, small_packets="50%").credits,
     lambda: lossless.credits("400Gbps", "100m", credit=192, small_packets=0.5).credits),
    (lambda: lossless.PausedGroups(0.01, others=[("1%", "50%")]).others, lambda: [(0.01, 0.5)]),
    (lambda: bottleneck_of("24Mbps", "40ms", "80pkt", options=PathOptions(loss="1%")).loss, lambda: 0.01),
]  # fmt: skip


@for_each(CALLS)
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


def test_a_bit_rate_is_one_of_packets_of_any_size() -> None:
    links = chain(2, rate="24Mbps", delay="20ms", buffer=80)
    flows = [Flow("f", (1, 2), CBR("1Mbps"))]
    for given in (links, chain(2, rate=mbps(24, 1000), delay="20ms", buffer=80)):
        scenario = Scenario("s", given, flows, packet_size=1000)
        assert (scenario.links[0].rate, scenario.flows[0].source.rate) == (3000.0, 125.0)


OPEN = {
    "hopflow.sweep": "the parameters of the thing",
    "markov.sweep": "the same function",
    "dfcmodel.compare": "the labels of the columns",
}


def test_every_public_function_has_an_explicit_signature() -> None:
    found = {}
    for package in MODULES:
        module = importlib.import_module(package)
        for name in module.__all__:
            item = getattr(module, name)
            if callable(item) and not inspect.isclass(item):
                for each in inspect.signature(item).parameters.values():
                    if each.kind is each.VAR_KEYWORD:
                        found[f"{package}.{name}"] = each
    assert found.keys() == OPEN.keys()


# Files of a user that hide hopflow's packages.


@pytest.mark.parametrize("wanted", ["hopflow; hopflow.PauseTandem", "hopflow; hopflow.markov", "validation"])
def test_a_file_that_hides_a_package_is_named(tmp_path, wanted):
    """A user's script or module called markov.py comes before ours."""
    (tmp_path / "markov.py").write_text("x = 1\n", encoding="utf-8")
    root = Path(hopflow.__file__).parents[1]
    code = f"import sys; sys.path[:0] = [{str(tmp_path)!r}, {str(root)!r}]; import {wanted}"
    run = python("-c", code)
    assert run.returncode == 1
    said = run.stderr.strip().splitlines()[-1]
    expected = "which hides hopflow's package of that name: rename it"
    assert said == f"ImportError: markov is {tmp_path / 'markov.py'}, {expected}"


# The package as a whole: names of the packages above.


def test_names_of_the_packages_and_the_packages_are_offered():
    assert hopflow.PauseTandem is markov.PauseTandem
    assert hopflow.Reno is responsefn.Reno
    assert hopflow.markov is markov
    offered = {"PauseTandem", "Reno", "takano2006", "dfcmodel", "markov", "responsefn"}
    assert {*hopflow.__all__, *offered} <= set(dir(hopflow))
    with pytest.raises(AttributeError, match="module 'hopflow' has no attribute 'nonsense'"):
        hopflow.nonsense  # noqa: B018


# The light installation: without JAX, SymPy and networkx.

WITHOUT = """
import sys
import tomllib

class Missing:
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in {names!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing)
"""
PATHS = {
    "fluid": "from dfcmodel import *; assert simulate(takano2006('1'), duration=0.05).status.ok",
    "packets": "from dfcmodel import *; assert simulate(takano2006('1'), Packets(), duration=0.05).status.ok",
    "chain": "from markov import *; assert stationary(PauseTandem(high_threshold=15, rtt=1.0)).error_bound < 1e-9",
    "explored": "from markov import *; rules = lambda s, q: [((s + 1) % 5, 1.0)]; "
    "assert abs(stationary(explore(rules, start=0)).pi.sum() - 1.0) < 1e-12",
    "headroom": "from dfcmodel import headroom; print(headroom(rate='100Gbps', cable='300m'))",
    "rates by a cycle": "from responsefn import *; print(HTCP().rate(0.01, rtt=0.1))",
    "command": "from hopflow.shell import main; sys.argv = ['hopflow', 'headroom', '--rate', '100Gbps', '--cable', '300m']; main()",
}


def test_the_main_paths_need_none_of_what_the_light_installation_leaves_out() -> None:
    """All in one process; an error of one names it by its line."""
    code = WITHOUT.format(names=set(LEFT_OUT) | {"jaxlib", "mpmath"}) + "\n".join(PATHS.values())
    assert str(HTCP().rate(0.01, rtt=0.1)) in printed_by("-c", code).splitlines()


def test_what_needs_them_says_what_to_install() -> None:
    code = WITHOUT.format(names={"sympy"}) + "from responsefn import Reno; Reno().expression"
    done = python("-c", code)
    said = "symbolic closed forms of responses need SymPy, which the light installation leaves out: `pip install sympy` adds it"
    assert done.stderr.strip().splitlines()[-1] == f"ImportError: {said}"


def test_the_light_installation_leaves_out_those_and_no_others() -> None:
    root = Path(hopflow.__file__).parents[1]
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    given = [
        line for line in (root / "requirements-light.txt").read_text(encoding="utf-8").splitlines() if line[:1] != "#"
    ]
    left = [each for each in project["dependencies"] if each.partition(">")[0] not in LEFT_OUT]
    assert sorted(given) == sorted(left)
