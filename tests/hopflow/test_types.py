"""What a type checker sees of names that are loaded on first use."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest

import hopflow
from tests.surface import python

ROOT = Path(hopflow.__file__).parents[1]
SNIPPET = """
import hopflow, markov
from hopflow import Reno, compare, passage

reveal_type(hopflow.simulate(hopflow.takano2006("1")))
reveal_type(hopflow.stationary(hopflow.PauseTandem()).throughput)
reveal_type(passage(hopflow.MM1K(1.0, 2.0, 3), to=3))
reveal_type(hopflow.mbps(10))
hopflow.simulte
markov.lumpe
hopflow.simulate(hopflow.takano2006("1"), metod=None)
hopflow.Link("a", "b", "10Mbps", "5ms", "20pkt")
hopflow.simulate(hopflow.takano2006("1"), duration="50ms")
hopflow.Replay(times=["1s", "2s"])
hopflow.DelayTrace("a->b", times=["0s", 1.0], delays=["1ms", "2ms"])
hopflow.Packets(loss={"a->b": "1%"})
hopflow.transient(hopflow.MM1K(1.0, 2.0, 3), ["100ms", "1s"])
hopflow.pause_thresholds(hopflow.PausedPort("10Gbps", "5Gbps", ("20pkt", "60pkt"), "1ms"), thresholds=["48pkt"])
hopflow.Replay(times=5)
reveal_type(hopflow.Link("a", "b", 1.0, 1.0, 1.0).rate)
"""
SEEN = (
    'Revealed type is "dfcmodel.results.trajectories.Trajectory"',
    'Revealed type is "float"',
    'Revealed type is "markov.time.passage_results.Passage"',
    'Revealed type is "float"',
    'Module has no attribute "simulte"',
    'Module has no attribute "lumpe"',
    'Unexpected keyword argument "metod" for "simulate"',
    'Argument "times" to "Replay" has incompatible type "int"',
    'Revealed type is "float | Any"',
)


def test_the_types_are_of_the_names_that_are_loaded() -> None:
    """Each name of hopflow has one home in the stub: the package from which it is loaded."""
    tree = ast.parse((ROOT / "hopflow" / "__init__.pyi").read_text(encoding="utf-8"))
    typed: dict[str, object] = {}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            assert node.module is not None
            module = importlib.import_module(node.module)
            for alias in node.names:
                names = module.__all__ if alias.name == "*" else [alias.name]
                typed |= {name: getattr(module, name) for name in names}
        elif isinstance(node, ast.Assign):
            assert ast.literal_eval(node.value) == hopflow.__all__
    offered = {name for name in dir(hopflow) if name in typed}
    assert offered == {*typed}
    assert all(getattr(hopflow, name) is typed[name] for name in offered)


@pytest.mark.slow
def test_a_type_checker_knows_the_results_and_finds_mistakes(tmp_path: Path) -> None:
    (tmp_path / "snippet.py").write_text(SNIPPET, encoding="utf-8")
    run = python("-m", "mypy", tmp_path / "snippet.py", cwd=ROOT)
    said = [line.split(": ", 2)[2] for line in run.stdout.splitlines() if "snippet.py:" in line]
    found = [line for line in said if not line.startswith('"simulate" defined')]
    assert len(found) == len(SEEN), run.stdout
    for line, expected in zip(found, SEEN, strict=True):
        assert line.startswith(expected)
