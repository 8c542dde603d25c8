"""Every public object has an example that runs; imports inside the package go down."""

from __future__ import annotations

import ast
import doctest
from pathlib import Path

import pytest

import responsefn

LAYERS = ("responses", "rules", "metrics", "measurements", "simulation")
"""From the bottom to the top; the modules of the package itself are above all."""


PACKAGE = Path(responsefn.__file__).parent


NEEDS_JAX = ("rule_twin", "twin")


@pytest.mark.parametrize("name", responsefn.__all__)
def test_the_example_of_every_public_object_runs(name):
    if name in NEEDS_JAX:
        pytest.importorskip("jax")
    finder = doctest.DocTestFinder(recurse=False)
    thing = getattr(responsefn, name)
    (test,) = finder.find(thing, name, globs={})
    assert test.examples, f"{name} has no example"
    module = __import__(thing.__module__, fromlist=["x"])
    test.globs.update(vars(module))
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    report: list[str] = []
    assert runner.run(test, out=report.append).failed == 0, "".join(report)


@pytest.mark.parametrize(
    "path", sorted(PACKAGE.rglob("*.py")), ids=lambda p: str(p.relative_to(PACKAGE))
)
def test_imports_go_down(path):
    """Also those inside of functions; but not those for type checkers only."""
    layer = path.relative_to(PACKAGE).parts[0]
    if layer not in LAYERS:
        return
    tree = ast.parse(path.read_text(encoding="utf-8"))
    imported = {
        node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        and node.module
        and node.module.startswith("responsefn.")
    }
    for module in imported:
        other = module.split(".")[1]
        assert other in LAYERS, module
        assert LAYERS.index(other) <= LAYERS.index(layer), module


@pytest.mark.parametrize(
    "path", sorted(PACKAGE.rglob("*.py")), ids=lambda p: str(p.relative_to(PACKAGE))
)
def test_no_function_has_the_name_of_its_module(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = {node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    assert path.stem not in names
