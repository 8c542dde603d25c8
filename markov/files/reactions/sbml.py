"""Reaction networks in SBML as Markov chains on the numbers of molecules.

Systems Biology Markup Language, levels 2 and 3 (core): species, parameters, reactions with their laws,
and assignment rules. Numbers of molecules have no largest value: a limit is given for each species, and
what would exceed it ends in a state of its own, whose probability bounds the error of the truncation (B.
Munsky, M. Khammash, The finite state projection algorithm, Journal of Chemical Physics 124, 2006).
"""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hopflow.checks import file_path, whole
from markov.files.binding import Bound
from markov.files.columns import Columns
from markov.files.errors import FileError
from markov.files.models import FileModel
from markov.files.parsing.tokens import read_text
from markov.files.program import (
    Assignment,
    Branch,
    Command,
    Composition,
    Constant,
    Module,
    Program,
    Reset,
    RewardItem,
    Variable,
)
from markov.files.reactions.events import Trigger, read_event, triggered
from markov.files.reactions.formulas import Formulas
from markov.files.states.state_space import MAX_STATES
from markov.files.syntax import Chain, Expression, Literal, Name, Negation, names_in
from markov.files.values import boolean

__all__ = ["read_sbml"]

OUTSIDE = "outside"
READ = {
    "compartments": ("listOfCompartments", "compartment"),
    "species": ("listOfSpecies", "species"),
    "parameters": ("listOfParameters", "parameter"),
    "reactions": ("listOfReactions", "reaction"),
    "rules": ("listOfRules", None),
    "events": ("listOfEvents", "event"),
}
UNREAD = (
    "listOfConstraints",
    "listOfInitialAssignments",
    "listOfFunctionDefinitions",
)


def read_sbml(
    path: str | Path,
    *,
    limits: int | Mapping[str, int] | None = None,
    constants: Mapping[str, Any] | None = None,
    most: int = MAX_STATES,
) -> FileModel:
    """Return the chain of a reaction network in an SBML file.

    Parameters
    ----------
    path
        The file.
    limits
        Largest number of molecules of each species that reactions change, or one number for all. A
        reaction that would exceed it leads to the state ``outside``, for good; the probability of the
        label ``outside`` at a time is a bound on what the limits change in any probability then. None: no
        limits; `stationary`, `passage` and `transient` take infinitely many states.
    constants
        Values of parameters in place of those of the file.
    most
        Give up beyond so many states.

    Returns
    -------
    FileModel
        Each species is a component and a reward (zero in the state ``outside``), each assignment rule a
        reward; ``property`` evaluates CSL. An event that a reaction triggers is part of that reaction. A
        model with events at given times is no chain with constant rates: `transient` alone takes it.

    Raises
    ------
    FileError
        A ValueError, with the element and the reason, where the file cannot be used: rate rules,
        functions, delays, several events that states trigger, initial amounts or stoichiometries that
        are not whole.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from markov import read_sbml, transient
    >>> text = '''<sbml xmlns="http://www.sbml.org/sbml/level3/version1/core"><model>
    ... <listOfSpecies><species id="X" initialAmount="3" hasOnlySubstanceUnits="true"/></listOfSpecies>
    ... <listOfParameters><parameter id="mu" value="0.5"/></listOfParameters>
    ... <listOfReactions><reaction id="death">
    ... <listOfReactants><speciesReference species="X" stoichiometry="1"/></listOfReactants>
    ... <kineticLaw><math><apply><times/><ci>mu</ci><ci>X</ci></apply></math></kineticLaw>
    ... </reaction></listOfReactions></model></sbml>'''
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "death.xml")
    ...     _ = path.write_text(text)
    ...     model = read_sbml(path, limits=10)
    >>> float(transient(model, 2.0)["X"][0].round(6))  # 3 e^-1
    1.103638
    """
    path = file_path("path", path)
    reader = _Reader(path.name, _model(path), limits)
    model = FileModel(reader.program(), constants, most)
    if reader.trigger is not None and reader.trigger.at_start:
        _refuse_at_start(reader.trigger, model.bound)
    return model


def _refuse_at_start(event: Trigger, bound: Bound) -> None:
    """Raise FileError where the event happens at time 0."""
    place = bound.program.file, None
    start = Columns(np.array([[r.start] for r in bound.ranges]))
    condition = boolean(bound.scope.value(event.condition), place, "a trigger")
    if np.any(condition.run(start)):
        raise FileError(place, "an event at time 0 is not read: give its values as initial ones")


def _model(path: Path) -> ET.Element:
    text = read_text(path)
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise FileError((path.name, None), "document types and entities are not read")
    try:
        root = ET.fromstring(text)
    except ET.ParseError as error:
        raise FileError((path.name, error.position[0]), f"no XML: {error}") from None
    for element in root.iter():
        element.tag = str(element.tag).rpartition("}")[2]
    found = root.find("model") if root.tag == "sbml" else None
    if found is None:
        raise FileError((path.name, None), "no SBML: an element sbml with a model is expected")
    return found


class _Reader:
    """One method per element."""

    def __init__(
        self, file: str, model: ET.Element, limits: int | Mapping[str, int] | None
    ) -> None:
        self.file, self.model, self.limited = file, model, limits is not None
        for tag in UNREAD:
            if model.find(tag) is not None:
                raise self.wrong(tag, "not read")
        self.sizes = {
            self.named(each): self.real(each, "size", 1.0) for each in self.each("compartments")
        }
        self.amount_of: dict[str, Expression] = {}
        self.rules = self._rules()
        self.counts = self._counts(limits)
        self.formulas = Formulas(self.amount_of, self.wrong)
        self.resets, self.trigger = self._events()
        if self.resets and not self.limited:
            raise self.wrong("listOfEvents", "events at given times need limits=")

    def wrong(self, where: str, reason: str) -> FileError:
        return FileError((self.file, None), f"{where}: {reason}")

    def each(self, kind: str) -> Iterator[ET.Element]:
        """Yield the elements of a list of the model."""
        whole_list, tag = READ[kind]
        for part in self.model.findall(whole_list):
            for element in part:
                if tag is not None and element.tag != tag:
                    raise self.wrong(whole_list, f"{element.tag} is not read")
                yield element

    def named(self, element: ET.Element) -> str:
        name = element.get("id")
        if not name:
            raise self.wrong(element.tag, "without an id")
        return name

    def real(self, element: ET.Element, name: str, default: float | None) -> float:
        text = element.get(name)
        try:
            value = default if text is None else float(text)
        except ValueError:
            value = None
        if value is None or not math.isfinite(value):
            place = f"{element.tag} {element.get('id')!r}"
            raise self.wrong(place, f"{name} = {text!r}: a number is expected")
        return value

    def whole(self, where: str, value: float) -> int:
        if value != int(value):
            raise self.wrong(where, f"{value:g}: a whole number is expected")
        return int(value)

    def _rules(self) -> dict[str, ET.Element]:
        found = {}
        for rule in self.each("rules"):
            variable = rule.get("variable", "")
            if rule.tag != "assignmentRule":
                raise self.wrong(f"{rule.tag} of {variable!r}", "not read")
            found[variable] = rule
        return found

    def _events(self) -> tuple[tuple[Reset, ...], Trigger | None]:
        """Return the events at given times, or the one that reactions trigger."""
        math = Formulas(self.amount_of, self.wrong, timed=True).read
        found = [
            read_event(event, math, self.counts.keys(), self.wrong) for event in self.each("events")
        ]
        resets = tuple(event for event in found if isinstance(event, Reset))
        triggers = [event for event in found if isinstance(event, Trigger)]
        if len(triggers) > 1 or (triggers and resets):
            said = "several, and one of them depends on the state: their order is not given"
            raise self.wrong("listOfEvents", said)
        if triggers and set(names_in(triggers[0].condition)) & self.rules.keys():
            raise self.wrong("listOfEvents", "a trigger that depends on a rule is not read")
        return resets, triggers[0] if triggers else None

    def _counts(self, limits: int | Mapping[str, int] | None) -> dict[str, tuple[int, int | None]]:
        """Return start and limit of each species that reactions change; the others are constants."""
        found: dict[str, tuple[int, int | None]] = {}
        self.fixed: dict[str, float] = {}
        for species in self.each("species"):
            name = self.named(species)
            size = self.sizes.get(species.get("compartment", ""), 1.0)
            amount = self.real(species, "initialAmount", 0.0)
            if species.get("initialAmount") is None:
                amount = self.real(species, "initialConcentration", 0.0) * size
            in_amounts = species.get("hasOnlySubstanceUnits") == "true" or size == 1.0
            tree: Expression = Name(name, 1)
            self.amount_of[name] = (
                tree if in_amounts else Chain(tree, (("/", Literal(size, 1)),), 1)
            )
            if name in self.rules:
                continue
            if "true" in (species.get("boundaryCondition"), species.get("constant")):
                self.fixed[name] = amount
                continue
            start = self.whole(f"species {name!r}, initial amount", amount)
            found[name] = start, self._limit(name, start, limits)
        if isinstance(limits, Mapping) and (unknown := set(limits) - set(found)):
            raise ValueError(f"limits: {min(unknown)!r} is no species that reactions change")
        return found

    def _limit(self, name: str, start: int, limits: int | Mapping[str, int] | None) -> int | None:
        if limits is None:
            return None
        if isinstance(limits, Mapping):
            if name not in limits:
                raise ValueError(f"limits: the largest number of {name!r} is missing")
            limits = limits[name]
        return whole(f"limits[{name!r}]", limits, start, 10**9, why="from its initial amount on")

    def program(self) -> Program:
        """Return the program of the file."""
        alone = Composition("interleaved", (Composition("module", ("network",)),))
        found = Program(self.file, "ctmc", composition=alone, resets=self.resets)
        for parameter in self.each("parameters"):
            name = self.named(parameter)
            if name not in self.rules:
                self._constant(found, name, self.real(parameter, "value", None))
        for name, size in self.sizes.items():
            self._constant(found, name, size)
        for name, amount in self.fixed.items():
            self._constant(found, name, amount)
        for name, (start, limit) in self.counts.items():
            found.check_new(name, 1)
            last = None if limit is None else Literal(limit, 1)
            found.variables[name] = Variable(name, "int", Literal(0, 1), last, Literal(start, 1), 1)
        if self.limited:
            found.check_new(OUTSIDE, 1)
            found.variables[OUTSIDE] = Variable(OUTSIDE, "bool", None, None, Literal(False, 1), 1)
            found.labels[OUTSIDE] = Name(OUTSIDE, 1)
        for name, rule in self.rules.items():
            found.check_new(name, 1)
            found.formulas[name] = self.formulas.read(rule, f"rule of {name!r}")
        for name in (*self.counts, *self.rules):
            found.rewards[name] = (RewardItem(None, self.inside, Name(name, 1), 1),)
        commands = [
            c for reaction in self.each("reactions") for c in self._reaction(found, reaction)
        ]
        if not commands:
            raise self.wrong("model", "has no reactions")
        found.modules["network"] = Module("network", tuple(commands), 1)
        return found

    @property
    def inside(self) -> Expression:
        """Whether no limit was exceeded."""
        return Negation("!", Name(OUTSIDE, 1), 1) if self.limited else Literal(True, 1)

    def _constant(self, found: Program, name: str, value: float) -> None:
        found.check_new(name, 1)
        found.constants[name] = Constant(name, "double", Literal(value, 1), 1)

    def _reaction(self, found: Program, reaction: ET.Element) -> Iterator[Command]:
        """Yield the command of a reaction, and that of leaving the limits where it can."""
        where = f"reaction {reaction.get('id')!r}"
        if reaction.get("fast") == "true":
            raise self.wrong(where, "fast reactions are not read")
        law = reaction.find("kineticLaw")
        if law is None:
            raise self.wrong(where, "has no kinetic law")
        own = {}
        for kind in ("listOfLocalParameters", "listOfParameters"):
            for parameter in law.findall(f"{kind}/*"):
                name = self.named(parameter)
                own[name] = f"{reaction.get('id')}.{name}"
                self._constant(found, own[name], self.real(parameter, "value", None))
        rate = self.formulas.read(law, where, own)
        changes = self._changes(reaction, where)
        fits, exceeds = self.inside, []
        for name, change in changes.items():
            limit = self.counts[name][1]
            if change > 0 and limit is not None:
                room = Literal(limit - change, 1)
                fits = _and(fits, Chain(Name(name, 1), (("<=", room),), 1))
                exceeds.append(Chain(Name(name, 1), ((">", room),), 1))
        step = tuple(
            Assignment(name, Chain(Name(name, 1), (("+", Literal(change, 1)),), 1), 1)
            for name, change in changes.items()
        )
        if not step:
            return
        plain = Command("", fits, (Branch(rate, step),), 1)
        yield from ((plain,) if self.trigger is None else triggered(plain, changes, self.trigger))
        if exceeds:
            leaves: Expression = exceeds[0]
            for each in exceeds[1:]:
                leaves = Chain(leaves, (("|", each),), 1)
            gone = [Assignment(name, Literal(0, 1), 1) for name in self.counts]
            gone.append(Assignment(OUTSIDE, Literal(True, 1), 1))
            yield Command("", _and(self.inside, leaves), (Branch(rate, tuple(gone)),), 1)

    def _changes(self, reaction: ET.Element, where: str) -> dict[str, int]:
        """Return by how much a reaction changes the number of each species."""
        found: dict[str, int] = {}
        for kind, sign in (("listOfReactants", -1), ("listOfProducts", 1)):
            for reference in reaction.findall(f"{kind}/speciesReference"):
                name = reference.get("species", "")
                if reference.find("stoichiometryMath") is not None:
                    raise self.wrong(where, "stoichiometryMath is not read")
                amount = self.whole(where, self.real(reference, "stoichiometry", 1.0))
                if name in self.counts:
                    found[name] = found.get(name, 0) + sign * amount
                elif name not in self.fixed:
                    raise self.wrong(where, f"{name!r} is no species that reactions may change")
        return {name: change for name, change in found.items() if change}


def _and(one: Expression, other: Expression) -> Expression:
    return Chain(one, (("&", other),), 1)
