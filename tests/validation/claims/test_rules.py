"""Rules that claims derive, or construct with constants of their own: compiled steps and names of parameters."""

from __future__ import annotations

import ast
import ctypes
import importlib
import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import validation.claims
from responsefn import Feedback
from responsefn.rule_events import MAX_DELIVERY_NUMBERS, event_of, numbers_of, parameters_at, signature_of
from responsefn.rules.index import RULES

FOLDER = Path(inspect.getfile(validation.claims)).parent
TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.rglob("*.py"))}
BASES = {*RULES, "WindowRule", "RateRule", "DeliveryRule", "Law"}
EVENT = ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_double), *[ctypes.c_double] * 4)
"""An event of `responsefn.rule_events`: a flow's record, time, round-trip time, acknowledged and marked packets."""


def last_name(node: ast.expr) -> str:
    """Return ``Reno`` of ``Reno`` and of ``responsefn.Reno``."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def derived_classes() -> list[str]:
    """Return ``module:name`` of each class of the claims that derives from a rule, directly or not."""
    classes: dict[str, str] = {}
    count = -1
    while count < len(classes):  # a class may derive from a class of another file
        count = len(classes)
        for path, tree in TREES.items():
            module = ".".join(path.relative_to(FOLDER).with_suffix("").parts)
            for node in ast.walk(tree):
                if isinstance(node, ast.ClassDef) and not (BASES | classes.keys()).isdisjoint(
                    map(last_name, node.bases)
                ):
                    classes[node.name] = f"{module}:{node.name}"
    return sorted(classes.values())


DERIVED = derived_classes()
CONSTRUCTIONS = {
    f"{path.relative_to(FOLDER)}:{node.lineno} {last_name(node.func)}": node
    for path, tree in TREES.items()
    for node in ast.walk(tree)
    if isinstance(node, ast.Call) and last_name(node.func) in RULES and (node.args or node.keywords)
}
"""Calls of rules of the catalogue with arguments, by file and line."""


def take_steps(rule: Any, *, compiled: bool) -> None:
    """Call the events of an ACK and of a loss once, from a new connection; states stay numbers."""
    rate = hasattr(rule, "on_feedback")
    state = rule.start(1e6) if rate else rule.start(0.02, 5000.0)
    if not compiled:
        for step in (rule.on_feedback,) if rate else (rule.on_ack, rule.on_loss):
            assert not np.isnan(step(state, rule.params, Feedback(1.0, 0.02, 1.0, 0.0))).any()
        return
    first, numbers = parameters_at(type(rule)), list(numbers_of(rule).values())
    record = np.zeros(2 * MAX_DELIVERY_NUMBERS)
    record[: len(state)] = state
    record[first : first + len(numbers)] = numbers
    for step in (rule.on_feedback,) if rate else (rule.on_ack, rule.on_loss):
        address = event_of(signature_of(rule), step, Feedback._fields, True)
        EVENT(address)(record.ctypes.data_as(ctypes.POINTER(ctypes.c_double)), 1.0, 0.02, 1.0, 0.0)
    assert record[first : first + len(numbers)].tolist() == numbers, "an event refused its state"
    assert not np.isnan(record[: len(state)]).any()


@pytest.mark.parametrize("name", DERIVED)
def test_a_derived_rule_compiles_and_takes_a_step(name: str) -> None:
    """A renamed field of a state fails to compile, also where plain Python would return before it."""
    module, _, kind = name.partition(":")
    rule = getattr(importlib.import_module(f"{validation.claims.__name__}.{module}"), kind)
    take_steps(rule(**{field: 1e-5 for field in ("base_rtt",) if field in rule.Params._fields}), compiled=True)


def test_classes_that_derive_from_rules_are_detected() -> None:
    assert "li2019.telemetry:PerAck" in DERIVED


@pytest.mark.parametrize("place", CONSTRUCTIONS)
def test_constants_of_a_claim_are_parameters_of_its_rule(place: str) -> None:
    """Constants are accepted, and steps run with them; computed values are compared by name."""
    call = CONSTRUCTIONS[place]
    name = last_name(call.func)
    rule = getattr(importlib.import_module(RULES[name][0]), name)
    constants = {k.arg: k.value.value for k in call.keywords if k.arg and isinstance(k.value, ast.Constant)}
    instance = rule(**constants)
    assert not {k.arg for k in call.keywords if k.arg} - set(instance.Params._fields)
    assert len(call.args) <= len(instance.Params._fields)
    if hasattr(instance, "start") and None not in instance.params:  # not a law, and no parameter of a network
        take_steps(instance, compiled=False)
