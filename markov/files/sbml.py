"""Reaction networks in SBML as Markov chains on the numbers of molecules.

Systems Biology Markup Language, levels 2 and 3 (core): species, parameters, reactions with their laws,
and assignment rules. Numbers of molecules have no largest value: a limit may be set for each species, and reactions
beyond it lead to a separate state, whose probability bounds the error of the truncation (B.
Munsky, M. Khammash, The finite state projection algorithm, Journal of Chemical Physics 124, 2006).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.callers import warn_caller
from hopflow.checks import file_path, integer
from markov.files.formulas import (
    CLOCK,
    Element,
    Formulas,
    FunctionDefinition,
    LawSigns,
    check_attributes,
    describe_element,
    read_model_element,
    vanishes_without,
)
from markov.files.language import (
    INT_LIMIT,
    Batch,
    Call,
    Chain,
    Expression,
    FileError,
    Literal,
    Name,
    Negation,
    check_boolean,
    map_parts,
    names_in,
)
from markov.files.models import FileModel
from markov.files.parsing import decimal
from markov.files.program import (
    FIRST_EVENT,
    FIRST_REACTION,
    Assignment,
    Branch,
    Command,
    Composition,
    Constant,
    Instance,
    Module,
    Program,
    Reset,
    RewardItem,
    Variable,
)
from markov.generators.building import MAX_STATES

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

__all__ = ["read_sbml", "shift"]

# ---------------------------------------------------------------------------------------------- events


HOLDS_AFTER = {(">=", 0): False, (">", 0): True, ("<=", 1): False, ("<", 1): True}
"""Comparisons with the time on the left (0) or right (1), and whether they first hold after it."""


@dataclass(frozen=True)
class Trigger:
    """An event of SBML that reactions trigger: its condition, and the assignments when the condition becomes true.

    ``at_start``: whether the event happens at time 0 if the condition holds initially. ``where``: its description.
    """

    where: str
    condition: Expression
    changes: tuple[Assignment, ...]
    at_start: bool


def read_event(
    event: Element,
    math: Callable[[Element, str], Expression],
    variables: Collection[str],
    amount: Callable[[str, Expression], Expression],
    refuse: Callable[[str, str], Exception],
) -> Reset | Trigger:
    """Return the event that an SBML element describes, at a fixed time or triggered by reactions.

    Parameters
    ----------
    event
        The element.
    math
        Reader of the formula in an element; takes its description for messages.
    variables
        Species that reactions change: they may be assigned, and conditions may depend on them.
    amount
        Returns the amount of a species that is set to a value, which may be a concentration.
    refuse
        Returns the error of a description and a reason.

    Raises
    ------
    FileError
        For delays and priorities, assignments to others, and conditions of the time that are not
        ``time >= number`` or ``time > number``.
    """
    where = f"event {event.get('id', '')!r}"
    triggers = event.findall("trigger")
    if len(triggers) != 1:
        raise refuse(where, "must have one trigger")
    trigger: Element = triggers[0]
    condition = math(trigger, where)
    changes: list[Assignment] = []
    for assignment in event.findall("listOfEventAssignments/eventAssignment"):
        name = assignment.get("variable", "")
        if name not in variables or name in {change.name for change in changes}:
            raise refuse(where, f"assigns {name!r}: must be a species that reactions change, once")
        value = amount(name, math(assignment, where))
        changes.append(Assignment(name, value, value.line))
    if CLOCK in (name for change in changes for name in names_in(change.value)):
        raise refuse(where, "assigns a value that depends on the time: not read")
    at_trigger = _true_by_default(event, "useValuesFromTriggerTime", where, refuse)
    if CLOCK not in names_in(condition):
        initial = _true_by_default(trigger, "initialValue", where, refuse)
        integers = (replace(c, value=Call("whole", (c.value,), c.line)) for c in changes)
        return Trigger(where, condition, tuple(integers), not initial)
    match condition:
        case Chain(first, ((sign, second),)):
            sides = first, second
            for side, other in ((0, second), (1, first)):
                after = HOLDS_AFTER.get((sign, side))
                clock = sides[side]
                if not isinstance(clock, Name) or clock.name != CLOCK or after is None:
                    continue
                if not {*variables, CLOCK} & set(names_in(other)):
                    return Reset(where, other, after, not at_trigger, tuple(changes))
    raise refuse(where, "a trigger by time must be time >= or > a number")


def _true_by_default(element: Element, name: str, where: str, refuse: Callable[[str, str], Exception]) -> bool:
    """Return the boolean attribute of an XML element; True if it is missing."""
    text = element.get(name, "true")
    if text not in ("true", "false", "1", "0"):
        raise refuse(where, f"{name} = {text[:40]!r}: must be true or false")
    return text in ("true", "1")


def split_by_trigger(
    command: Command, step: Mapping[str, int], event: Trigger, number: int, limits: Mapping[str, int], away: Branch
) -> Iterator[Command]:
    """Yield a reaction's command where it does not trigger the event, and commands with the event's changes elsewhere.

    Parameters
    ----------
    command
        Command of the reaction, with one branch.
    step
        Change of each species.
    event
        Event that happens when its condition becomes true; its values are computed after the reaction.
    number
        Number of the commands with the event.
    limits
        Limit of each species to which the event assigns a value that depends on amounts.
    away
        Branch of the command where such a value exceeds its limit.
    """
    before, after = event.condition, shift(event.condition, step)
    fires = Chain(Negation("!", before, 1), (("&", after),), 1)
    stays = Chain(before, (("|", Negation("!", after, 1)),), 1)
    (branch,) = command.branches
    changes = {change.name: change for change in branch.changes}
    changes |= {c.name: replace(c, value=shift(c.value, step), line=number) for c in event.changes}
    yield replace(command, guard=_conjunction(command.guard, stays))
    guard = _conjunction(command.guard, fires)
    if limits:
        exceeds = _disjunction(
            Chain(changes[name].value, ((">", Literal(limit, 1)),), 1) for name, limit in limits.items()
        )
        yield Command("", _conjunction(guard, exceeds), (away,), number)
        guard = _conjunction(guard, Negation("!", exceeds, 1))
    yield Command("", guard, (Branch(branch.rate, tuple(changes.values())),), number)


def shift(tree: Expression, step: Mapping[str, int]) -> Expression:
    """Return an expression in which each variable has its value after a step, in terms of values before it."""
    if isinstance(tree, Name) and tree.name in step:
        return Chain(tree, (("+", Literal(step[tree.name], 1)),), 1)
    return map_parts(tree, lambda part: shift(part, step))


# ---------------------------------------------------------------------------------------------- models


OUTSIDE = "outside"
SIZE_UNITS = {"1": ("length", "metre"), "2": ("area", ""), "3": ("volume", "litre")}
"""Default unit of a size in level 2 by dimensions, and the base unit that it is where a file does not define it."""
TWO_REACTIONS = (
    "; write two reactions, one for each direction, with laws that are never negative, "
    'or reversible="false" where the law is the rate of one direction alone'
)
OF_MOLECULES = ": a law of numbers of molecules is 0 there, such as X (X - 1) for two"


def read_sbml(
    path: str | Path,
    *,
    limits: int | Mapping[str, int] | None = None,
    constants: Mapping[str, Any] | None = None,
    most: int = MAX_STATES,
) -> FileModel:
    """Return the Markov chain model of a reaction network in an SBML file.

    Everything in a file is read, or is listed in ``docs/markov-files.md`` as what may be skipped, or is refused by its
    name. Formulas have the functions of MathML in level 2, piecewise definitions and function definitions among them.

    Parameters
    ----------
    path
        The file.
    limits
        Largest number of molecules of each species that reactions change, or one number for all. A
        reaction that would exceed it leads to the absorbing state ``outside``; the probability of the
        label ``outside`` at a time bounds the effect of the limits on any probability at that time. None: no
        limits; `stationary`, `passage` and `transient` take infinitely many states.
    constants
        Values of parameters and sizes, and amounts of species that reactions do not change; they replace values in
        the file.
    most
        Largest number of states; with more, TooLargeError.

    Returns
    -------
    FileModel
        Each species that reactions or events change is a component and a reward (zero in the state ``outside``); others
        are constants. Each assignment rule is a reward; ``property`` evaluates CSL. An event that a reaction triggers
        is part of that reaction. A model with events at given times is no chain with constant rates: `transient` alone
        takes it.

    Raises
    ------
    FileError
        A ValueError, with the line, the element and the reason, where the file cannot be used: laws of reversible
        reactions that may be negative, laws that are negative in a state, rate rules, constraints, delays, several
        events that states trigger, packages that are required, amounts in another unit than molecules, times in another
        unit than seconds, initial amounts or stoichiometries that are missing or not whole.

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
    overrides = dict(constants or {}) if isinstance(constants, Mapping) else constants
    reader = _Reader(path.name, *read_model_element(path), limits)
    model = FileModel(reader.program(), overrides, most)
    _warn_of_laws_of_concentrations(reader.several, model.instance)
    return model


@dataclass(frozen=True)
class _ChecksOfConstants:
    """What is refused of a network for some values of its constants: sizes, an event at time 0, laws of two directions.

    Attributes
    ----------
    sizes
        Names of the compartments.
    trigger
        The event that reactions trigger, or None.
    reversible
        Laws of reversible reactions by the number of the reaction.
    """

    sizes: tuple[str, ...]
    trigger: Trigger | None
    reversible: Mapping[int, Expression]

    def __call__(self, instance: Instance) -> None:
        """Raise FileError if the network with these constants is not read."""
        for name in self.sizes:
            if not (size := instance.constants.get(name, 1.0)) > 0.0:
                raise FileError((instance.program.file, None), f"compartment {name!r}: size = {size:g}: must be > 0")
        if self.trigger is not None and self.trigger.at_start:
            _refuse_at_start(self.trigger, instance)
        _refuse_net_laws(self.reversible, instance)


def _warn_of_laws_of_concentrations(
    laws: Mapping[int, tuple[Expression, Mapping[str, int]]], instance: Instance
) -> None:
    """Warn of laws that are positive with fewer molecules than their reactions take, such as X^2 of 2 X -> Y.

    Such a state is an error where it is reached. Where it is not, the law is a rate of concentrations all the same.
    Keys are numbers of reactions, values the law and the amounts above one that the reaction takes, by species.
    """
    for number, (law, amounts) in laws.items():
        for name, amount in amounts.items():
            state = [amount - 1 if r.name == name else max(r.start, int(r.kind == "int")) for r in instance.ranges]
            try:
                rate = float(np.ravel(instance.scope.value(law).run(Batch(np.array(state)[:, None])))[0])
            except FileError:  # reported where the law is evaluated
                continue
            if rate > 0.0:
                reason = f"takes {amount} of {name!r}, and its law is {rate:g} with {amount - 1}, as of concentrations"
                error = instance.program.command_error(number, reason, OF_MOLECULES)
                warn_caller(UserWarning(str(error)), "markov")


def _refuse_at_start(event: Trigger, instance: Instance) -> None:
    """Raise FileError if the event's condition holds in the initial state."""
    location = instance.program.file, None
    start = Batch(np.array([[r.start] for r in instance.ranges]))
    condition = check_boolean(instance.scope.value(event.condition), location, "a trigger")
    if np.any(condition.run(start)):
        raise FileError(location, "an event at time 0 is not read: give its values as initial ones")


def _refuse_net_laws(laws: Mapping[int, Expression], instance: Instance) -> None:
    """Raise FileError if the law of a reversible reaction may be negative; keys are numbers of reactions.

    Such a law is the difference of the rates of two directions. Which terms belong to which is not in the file, and
    read as one rate the reaction would stop where they are equal.
    """
    signs = LawSigns(instance)
    for number, law in laws.items():
        if signs.signs_of(law).negative:
            reason = "is reversible and has a law that may be negative, the difference of both directions: not read"
            raise instance.program.command_error(number, reason, TWO_REACTIONS)


class _Reader:
    """Reader of an SBML model into a `Program`, with one method per kind of element."""

    def __init__(self, file: str, model: Element, level: int, limits: int | Mapping[str, int] | None) -> None:
        self.file, self.model, self.level, self.limited = file, model, level, limits is not None
        self.line = model.line
        self._check_units()
        self.ids: dict[str, str] = {}
        self.compartments = {self.new_id(element): element for element in self.elements("Compartments")}
        self.sizes = {name: self._read_size(element) for name, element in self.compartments.items()}
        self.amount_of: dict[str, Expression] = {}
        self.concentrations: dict[str, Name] = {}  # sizes of the compartments of species
        self.species = {self.new_id(element): element for element in self.elements("Species")}
        self.parameters = {self.new_id(element): element for element in self.elements("Parameters")}
        for name, element in self.species.items():
            self._read_symbol(name, element)
        self.functions = self._read_functions()
        self.unread = self._name_unread()
        self.formulas = Formulas(self.amount_of, self.functions, self.error, self.unread)
        self.formulas.check_functions()
        self.rules = self._elements_by_symbol("Rules", "variable")
        self._values: dict[str, Expression] = {}  # of rules
        self.assigned = self._elements_by_symbol("InitialAssignments", "symbol")
        for name in self.rules.keys() & self.assigned.keys():
            raise self.error(f"initialAssignment {name!r}", "an assignment rule has its value")
        self.counts: dict[str, tuple[Expression, int | None]] = {}
        self.fixed: dict[str, Expression] = {}
        self.converted: dict[str, str] = {}  # compartments whose sizes are in initial amounts, with the reason
        for is_assigned in (False, True):  # initial assignments refer to plain initial amounts
            for name, element in self.species.items():
                if name not in self.rules and (name in self.assigned) == is_assigned:
                    self._read_species(name, element, limits)
        self.counts = {name: self.counts[name] for name in self.species if name in self.counts}
        if isinstance(limits, Mapping) and (unknown := set(limits) - set(self.counts)):
            raise ValueError(f"limits: {min(unknown)!r} is no species that reactions change")
        self.reversible: dict[int, Expression] = {}  # laws by the numbers of reactions
        self.several: dict[int, tuple[Expression, dict[str, int]]] = {}  # with amounts of reactants above one
        self.resets, self.trigger = self._read_events()
        if self.resets and not self.limited:
            raise self.error("listOfEvents", "events at given times need limits=")

    def error(self, where: str, reason: str) -> FileError:
        """Return a FileError at the line of the current element."""
        return FileError((self.file, self.line), f"{where}: {reason}")

    def elements(self, kind: str) -> Iterator[Element]:
        """Yield the elements of one list of the model; later errors are at their lines."""
        for part in self.model.findall(f"listOf{kind}"):
            for element in part:
                self.line = element.line
                yield element

    def new_id(self, element: Element) -> str:
        """Return the id of an element; FileError if it is missing or used before."""
        name = element.get("id")
        if not name:
            raise self.error(element.tag, "without an id")
        if name in self.ids:
            raise self.error(f"{element.tag} {name!r}", f"a {self.ids[name]} has the same id")
        self.ids[name] = element.tag
        return name

    def _name_unread(self) -> dict[str, str]:
        """Return what ids stand for that have a value which formulas cannot use: rates of reactions, stoichiometries.

        They share one namespace with species, parameters, compartments and functions; FileError for an id used before.
        """
        meanings = {}
        for reaction in self.elements("Reactions"):
            where = f"reaction {self.new_id(reaction)!r}"
            meanings[reaction.get("id", "")] = f"the rate of {where}"
            for kind in ("listOfReactants", "listOfProducts"):
                references: list[Element] = reaction.findall(f"{kind}/*[@id]")
                for reference in references:
                    self.line = reference.line
                    stoichiometry = f"the stoichiometry of {reference.get('species')!r} in {where}"
                    meanings[self.new_id(reference)] = stoichiometry
        return meanings

    def real(self, element: Element, name: str) -> Fraction | None:
        """Return the number in an attribute of an element; None without the attribute."""
        text = element.get(name)
        value = None if text is None else decimal(text.strip())
        if text is not None and value is None:
            raise self.error(describe_element(element), f"{name} = {text[:40]!r}: a number is expected")
        return value

    def truth(self, element: Element, name: str, *, default: bool) -> bool:
        """Return the truth value in an attribute of an element, ``default`` without the attribute."""
        text = element.get(name)
        if text is not None and text not in ("true", "false", "1", "0"):
            raise self.error(describe_element(element), f"{name} = {text[:40]!r}: must be true or false")
        return default if text is None else text in ("true", "1")

    # ------------------------------------------------------------------ units

    def _check_units(self) -> None:
        """Raise FileError for units other than molecules for amounts and seconds for times."""
        self.units: dict[str, list[Element]] = {}
        for definition in self.elements("UnitDefinitions"):
            name = definition.get("id", "")
            if name in self.units:
                raise self.error(describe_element(definition), "a second one of this id")
            self.units[name] = definition.findall("listOfUnits/unit")
        self.line = self.model.line
        expected_units = {"substanceUnits": "item", "extentUnits": "item", "timeUnits": "second"}
        for attribute, unit in expected_units.items():
            self._check_unit(f"model, {attribute}", self.model.get(attribute), unit)
        if self.level == 2:  # these names are the units of the model
            for name, unit in {"substance": "item", "time": "second"}.items():
                if name in self.units:
                    self._check_unit(f"unitDefinition {name!r}", name, unit)

    def _check_unit(self, where: str, name: str | None, expected: str) -> None:
        """Raise FileError unless the unit called ``name`` is ``expected`` or dimensionless.

        SBML has no definitions of units that it has itself, such as ``second``: where a file has one, that is the unit.
        """
        allowed = (expected, "dimensionless")
        parts = None if name is None else self.units.get(name)
        if name is None or (parts is None and name in allowed):
            return
        if parts is not None and len(parts) == 1:
            kind, (part,) = parts[0].get("kind"), parts
            plain = {"exponent": 1, "scale": 0, "multiplier": 1, "offset": 0}
            attributes = {key: self.real(part, key) for key in plain}
            if kind in allowed and all(attributes[key] in (None, plain[key]) for key in plain):
                return
        shown = "; ".join(" ".join(f"{k}={v}" for k, v in part.attrib.items()) for part in parts or ())
        message = f"the unit {name!r}{f' ({shown})' if shown else ''} is not read: must be {expected}"
        raise self.error(where, f"{message}, numbers are not converted")

    # ------------------------------------------------------------------ species and constants

    def _read_size(self, compartment: Element) -> Fraction | None:
        """Return the size of a compartment; 1 in 0 dimensions; None without a size."""
        dimensions = compartment.get("spatialDimensions", "3")
        if dimensions.strip() not in ("0", "1", "2", "3"):
            raise self.error(describe_element(compartment), f"spatialDimensions = {dimensions[:40]!r}: must be 0 to 3")
        size, has_no_size = self.real(compartment, "size"), self._has_no_size(compartment)
        if size is not None and (size <= 0 or has_no_size):
            rule = "a compartment of 0 dimensions has no size: remove it" if has_no_size else "must be > 0"
            raise self.error(describe_element(compartment), f"size = {compartment.get('size')!r}: {rule}")
        return Fraction(1) if has_no_size else size

    @staticmethod
    def _has_no_size(compartment: Element) -> bool:
        """Return whether a compartment has 0 dimensions."""
        return compartment.get("spatialDimensions", "3").strip() == "0"

    def _read_symbol(self, name: str, species: Element) -> None:
        """Record whether a species' name in formulas means its amount or its concentration."""
        self.line, where = species.line, f"species {name!r}"
        self._check_unit(f"{where}, substanceUnits", species.get("substanceUnits"), "item")
        compartment = species.get("compartment")
        if compartment is not None and compartment not in self.sizes:
            raise self.error(where, f"compartment {compartment!r} is not defined")
        self._check_size_unit(where, species)
        self.amount_of[name] = Name(name, self.line)
        if self.truth(species, "hasOnlySubstanceUnits", default=False):
            return
        if compartment is None:
            raise self.error(where, "stands for a concentration (hasOnlySubstanceUnits), and has no compartment")
        self.concentrations[name] = Name(compartment, self.line)
        per = (("/", self.concentrations[name]),)
        self.amount_of[name] = Chain(Name(name, self.line), per, self.line)

    def _check_size_unit(self, where: str, species: Element) -> None:
        """Raise FileError if a species has concentrations by another unit of size than that of its compartment."""
        unit = species.get("spatialSizeUnits")
        if unit is None:
            return
        compartment = self.compartments.get(species.get("compartment", ""), Element("compartment"))
        default, base = SIZE_UNITS.get(compartment.get("spatialDimensions", "3").strip(), ("none", ""))
        expected = compartment.get("units", default)
        if unit != expected and not (expected == default not in self.units and unit == base):
            message = f"spatialSizeUnits = {unit!r}: must be the unit of its compartment's size, {expected!r}"
            raise self.error(where, f"{message}; numbers are not converted")

    def _amount(self, name: str, value: Expression) -> Expression:
        """Return the amount of a species, as a tree, when its name has this value, which may be a concentration."""
        size = self.concentrations.get(name)
        return value if size is None else Chain(value, (("*", size),), value.line)

    def _read_species(self, name: str, species: Element, limits: int | Mapping[str, int] | None) -> None:
        """Add a species to the variables, or to the constants if reactions cannot change it."""
        self.line, where = species.line, f"species {name!r}"
        amount, concentration = (self.real(species, f"initial{kind}") for kind in ("Amount", "Concentration"))
        is_fixed = [self.truth(species, key, default=False) for key in ("boundaryCondition", "constant")]
        if amount is not None and concentration is not None:
            raise self.error(where, "initialAmount and initialConcentration: must have one of them")
        compartment = species.get("compartment", "")
        element = self.compartments.get(compartment)
        if concentration is not None and element is not None and self._has_no_size(element):
            raise self.error(where, f"initialConcentration: compartment {compartment!r} has 0 dimensions and no size")
        tree: Expression | None = None
        if name in self.assigned:
            tree = self._amount(name, self._initial_value(self._read_initial_assignment(name)))
        elif concentration is not None and compartment in self.assigned:  # by the size at time 0
            size, denominator = Name(compartment, self.line), Literal(float(concentration.denominator), self.line)
            numerator = Literal(float(concentration.numerator), self.line)  # 0.29 * 100 is below 29 in float64
            tree = Chain(numerator, (("*", size), ("/", denominator)), self.line)
        elif concentration is not None:
            if (plain_size := self.sizes.get(compartment)) is None:
                raise self.error(
                    where,
                    f"compartment {compartment!r} has no size, which its initialConcentration needs",
                )
            amount = concentration * plain_size
            if concentration:  # none in any size is none
                reason = "initial concentrations were multiplied by the size in the file: change it there"
                self.converted[compartment] = reason
        if tree is not None:
            if any(is_fixed):
                self.fixed[name] = tree
            else:
                start = Call("whole", (tree,), self.line)
                self.counts[name] = start, self._limit(name, 0, limits)
            return
        if amount is None:
            raise self.error(where, "has neither initialAmount nor initialConcentration")
        if any(is_fixed):
            self.fixed[name] = Literal(float(amount), self.line)
        else:
            if amount < 0 or amount.denominator != 1 or amount >= INT_LIMIT:
                message = f"initial amount {float(amount):g}: a whole number of molecules, >= 0, is expected"
                raise self.error(where, message)
            initial = int(amount)
            self.counts[name] = Literal(initial, self.line), self._limit(name, initial, limits)

    def _limit(self, name: str, start: int, limits: int | Mapping[str, int] | None) -> int | None:
        """Return the largest amount of a species from the user's limits; None without limits."""
        if limits is None:
            return None
        if isinstance(limits, Mapping):
            if name not in limits:
                raise ValueError(f"limits: the largest number of {name!r} is missing")
            limits = limits[name]
        return integer(f"limits[{name!r}]", limits, start, 10**9, why="from its initial amount on")

    def _elements_by_symbol(self, kind: str, attribute: str) -> dict[str, Element]:
        """Return rules or initial assignments by the name of the symbol that they define."""
        elements: dict[str, Element] = {}
        for element in self.elements(kind):
            name = element.get(attribute, "")
            where = f"{element.tag} of {name!r}"
            if name not in self.ids or self.ids[name] not in (
                "species",
                "parameter",
                "compartment",
            ):
                raise self.error(where, "must be of a species, a parameter or a compartment")
            if self.ids[name] == "compartment" and kind == "Rules":
                raise self.error(where, "a size that changes is not read")
            if name in elements:
                raise self.error(where, "a second one")
            elements[name] = element
        return elements

    def _read_initial_assignment(self, name: str) -> Expression:
        """Return the tree of a symbol's initial assignment."""
        element = self.assigned[name]
        self.line = element.line
        return self.formulas.read(element, f"initialAssignment of {name!r}")

    def _initial_value(self, tree: Expression, inside: tuple[str, ...] = ()) -> Expression:
        """Return an expression's value at time 0, as a tree, with initial amounts in place of species."""
        if not isinstance(tree, Name):
            return map_parts(tree, lambda part: self._initial_value(part, inside))
        name = tree.name
        if name in inside or len(inside) > 20:
            raise self.error(" -> ".join([*inside, name]), "initial values in a circle, or too many in a row")
        within = (*inside, name)
        if name in self.rules:
            return self._initial_value(self._read_rule(name), within)
        if name not in self.species:
            return tree
        if name in self.assigned:
            return self._amount(name, self._initial_value(self._read_initial_assignment(name), within))
        return self.counts[name][0] if name in self.counts else self.fixed[name]

    def _read_rule(self, name: str) -> Expression:
        """Return the value of an assignment rule as a tree; for a species its amount."""
        if name not in self._values:
            element = self.rules[name]
            self.line = element.line
            tree = self.formulas.read(element, f"rule of {name!r}")
            self._values[name] = self._amount(name, tree)
        return self._values[name]

    def _read_functions(self) -> dict[str, FunctionDefinition]:
        """Return the function definitions of the model by name."""
        functions = {}
        for element in self.elements("FunctionDefinitions"):
            name = self.new_id(element)
            bodies = element.findall("math/lambda") or element.findall("math/semantics/lambda")
            parts = list(bodies[0]) if len(bodies) == 1 else []
            parameters = [(part.findtext("ci") or "").strip() for part in parts[:-1]]
            plain = all(part.tag == "bvar" for part in parts[:-1]) and all(parameters)
            where = f"functionDefinition {name!r}"
            if not parts or not plain:
                raise self.error(where, "a lambda with bound variables and a body is expected")
            if twice := [x for k, x in enumerate(parameters) if x in parameters[:k]]:
                raise self.error(where, f"two bound variables {twice[0]!r}: must have different names")
            for node in element.iter():
                if node is not element:
                    check_attributes(node, f"functionDefinition {name!r}", self.error)
            functions[name] = FunctionDefinition(tuple(parameters), parts[-1])
        return functions

    # ------------------------------------------------------------------ events

    def _read_events(self) -> tuple[tuple[Reset, ...], Trigger | None]:
        """Return the events at fixed times, and the event that reactions trigger, or None."""
        math = Formulas(self.amount_of, self.functions, self.error, self.unread, timed=True).read
        events = [
            read_event(event, math, self.counts.keys(), self._amount, self.error) for event in self.elements("Events")
        ]
        resets = tuple(event for event in events if isinstance(event, Reset))
        triggers = [event for event in events if isinstance(event, Trigger)]
        if len(triggers) > 1 or (triggers and resets):
            message = "several, and one of them depends on the state: their order is not given"
            raise self.error("listOfEvents", message)
        for event in triggers:
            if set(names_in(event.condition)) & self.rules.keys():
                raise self.error(event.where, "a trigger that depends on a rule is not read")
            for change in event.changes:  # the value after the reaction, which a rule would have before it
                if set(names_in(change.value)) & self.rules.keys():
                    reason = f"assigns {change.name!r} a value that depends on a rule"
                    raise self.error(event.where, f"{reason}: not read of events that the state triggers")
        if self.limited:
            resets = tuple(
                replace(reset, exceeding=self._leave_limits(1)) if self._depends_on_amounts(reset) else reset
                for reset in resets
            )
        return resets, triggers[0] if triggers else None

    def _depends_on_amounts(self, reset: Reset) -> bool:
        """Return whether an event assigns a value that depends on amounts, and so may exceed a limit."""
        variable = self.counts.keys() | self.rules.keys()
        return any(variable & set(names_in(change.value)) for change in reset.changes)

    # ------------------------------------------------------------------ the program

    def program(self) -> Program:
        """Return the program of the SBML model."""
        composition = Composition("interleaved", (Composition("module", ("network",)),))
        reactions: dict[int, tuple[int, str]] = {}
        program = Program(
            self.file,
            "ctmc",
            composition=composition,
            resets=self.resets,
            reactions=reactions,
            fixed_constants=self.converted,
            checks=(_ChecksOfConstants(tuple(self.sizes), self.trigger, self.reversible),),
        )
        for name, parameter in self.parameters.items():
            if name not in self.rules:
                self.line = parameter.line
                self._add_constant(program, name, self._read_parameter(parameter))
        for name, size in self.sizes.items():
            if name in self.assigned:
                self._add_constant(program, name, self._initial_value(self._read_initial_assignment(name)))
            elif size is not None:
                self._add_constant(program, name, Literal(float(size), self.line))
            elif dependent := [x for x, c in self.concentrations.items() if c.name == name]:
                message = f"has no size; species {dependent[0]!r} stands for a concentration in it"
                raise self.error(f"compartment {name!r}", message)
        for name, tree in self.fixed.items():
            self._add_constant(program, name, tree)
        for name, (start, limit) in self.counts.items():
            last = None if limit is None else Literal(limit, 1)
            line = self.species[name].line
            program.variables[name] = Variable(name, "int", Literal(0, 1), last, start, line)
        if self.limited:
            program.check_new(OUTSIDE, 1)
            program.variables[OUTSIDE] = Variable(OUTSIDE, "bool", None, None, Literal(False, 1), 1)
            program.labels[OUTSIDE] = Name(OUTSIDE, 1)
        for name in self.rules:
            program.formulas[name] = self._read_rule(name)
        for name in (*self.counts, *self.rules):
            program.rewards[name] = (RewardItem(None, self.within_limits, Name(name, 1), 1),)
        commands = [
            command
            for number, reaction in enumerate(self.elements("Reactions"), FIRST_REACTION)
            for command in self._read_reaction(program, reaction, number)
        ]
        if not commands and not reactions and not self.resets:
            self.line = self.model.line
            raise self.error("model", "has no reactions")
        program.modules["network"] = Module("network", tuple(commands), 1)
        return program

    @property
    def within_limits(self) -> Expression:
        """The condition, as a tree, that no limit of a species has been exceeded."""
        return Negation("!", Name(OUTSIDE, 1), 1) if self.limited else Literal(True, 1)

    def _read_parameter(self, parameter: Element) -> Expression:
        """Return the value of a parameter as a tree, from its initial assignment if it has one."""
        name = parameter.get("id", "")
        if parameter.tag == "parameter" and self.parameters.get(name) is parameter and name in self.assigned:
            return self._initial_value(self._read_initial_assignment(name))
        value = self.real(parameter, "value")
        if value is None:
            raise self.error(describe_element(parameter), "has no value")
        return Literal(float(value), parameter.line)

    def _add_constant(self, program: Program, name: str, value: Expression) -> None:
        """Add a constant of type double to the program."""
        program.check_new(name, self.line)
        program.constants[name] = Constant(name, "double", value, self.line)

    def _read_reaction(self, program: Program, reaction: Element, number: int) -> Iterator[Command]:
        """Yield the commands of a reaction: in the limits, with a negative law, and beyond the limits."""
        name = reaction.get("id", "")
        where = f"reaction {name!r}"
        program.reactions[number] = reaction.line, where
        if self.truth(reaction, "fast", default=False):
            raise self.error(where, "fast reactions are not read")
        laws: list[Element] = reaction.findall("kineticLaw")
        if len(laws) != 1:
            raise self.error(where, "must have one kinetic law")
        (law,) = laws
        local: dict[str, Expression] = {}
        for kind in ("listOfLocalParameters", "listOfParameters"):
            for parameter in law.findall(f"{kind}/*"):
                key = parameter.get("id", "")
                if not key or key in local:
                    raise self.error(where, f"local parameter {key!r}: must have an id, once")
                local[key] = Name(f"{name}.{key}", parameter.line)
                self._add_constant(program, f"{name}.{key}", self._read_parameter(parameter))
        rate = self.formulas.read(law, where, local)
        taken, changes = self._read_changes(reaction, where)
        needed = tuple(self._species_with_condition(taken, rate))
        fits, exceeds = self.within_limits, []
        for species in needed:
            fits = _conjunction(fits, Chain(Name(species, 1), ((">", Literal(0, 1)),), 1))
        has_reactants = fits
        returned = self._returned_reactants(taken, changes, rate)
        for species, amount in returned.items():
            fits = _conjunction(fits, Chain(Name(species, 1), ((">=", Literal(amount, 1)),), 1))
        for species, change in changes.items():
            limit = self.counts[species][1]
            if change > 0 and limit is not None:
                room = Literal(limit - change, 1)
                fits = _conjunction(fits, Chain(Name(species, 1), (("<=", room),), 1))
                exceeds.append(Chain(Name(species, 1), ((">", room),), 1))
        step = tuple(
            Assignment(species, Chain(Name(species, 1), (("+", Literal(change, 1)),), 1), number)
            for species, change in changes.items()
        )
        if not step:
            return
        if self.truth(reaction, "reversible", default=True):
            self.reversible[number] = rate
        if several := {name: amount for name, amount in taken.items() if amount > 1}:
            self.several[number] = rate, several
        plain = Command("", fits, (Branch(rate, step),), number)
        if self.trigger is None:
            yield plain
        else:
            event_number = number - FIRST_REACTION + FIRST_EVENT
            program.reactions[event_number] = reaction.line, f"{self.trigger.where}, which {where} triggers"
            assigned = [c.name for c in self.trigger.changes if self.counts.keys() & set(names_in(c.value))]
            limits = {name: limit for name in assigned if (limit := self.counts[name][1]) is not None}
            away = Branch(rate, self._leave_limits(event_number))
            yield from split_by_trigger(plain, changes, self.trigger, event_number, limits, away)
        for species, amount in returned.items():  # leaves the range: the error of a law that is positive there
            short = Chain(Name(species, 1), (("<", Literal(amount, 1)),), 1)
            negative_amount = Chain(Name(species, 1), (("-", Literal(amount, 1)),), 1)
            shortage = Branch(rate, (Assignment(species, negative_amount, number),))
            yield Command("", _conjunction(has_reactants, short), (shortage,), number)
        if needed:  # without reactants the reaction is disabled, but a negative law is refused in such states as well
            is_exhausted = _disjunction(Chain(Name(species, 1), (("=", Literal(0, 1)),), 1) for species in needed)
            negative = Chain(rate, (("<", Literal(0, 1)),), 1)
            yield Command(
                "", _conjunction(_conjunction(self.within_limits, is_exhausted), negative), (Branch(rate, ()),), number
            )
        if exceeds:
            yield Command(
                "",
                _conjunction(has_reactants, _disjunction(exceeds)),
                (Branch(rate, self._leave_limits(number)),),
                number,
            )

    def _leave_limits(self, line: int) -> tuple[Assignment, ...]:
        """Return the assignments that lead to the state outside of the limits."""
        cleared = [Assignment(species, Literal(0, 1), line) for species in self.counts]
        return (*cleared, Assignment(OUTSIDE, Literal(True, 1), line))

    def _species_with_condition(self, taken: Mapping[str, int], rate: Expression) -> Iterator[str]:
        """Yield reactants on which the law depends without vanishing at zero molecules.

        A piecewise law is often positive there. Laws that do not depend on a reactant get no condition: they are
        refused.
        """
        names: set[str] = set()
        unvisited = set(names_in(rate))
        while unvisited:
            names |= unvisited
            unvisited = {n for rule in unvisited & self.rules.keys() for n in names_in(self._read_rule(rule))}
            unvisited -= names
        for name in taken:
            if name in names and not vanishes_without(rate, name):
                yield name

    @staticmethod
    def _returned_reactants(taken: Mapping[str, int], changes: Mapping[str, int], rate: Expression) -> dict[str, int]:
        """Return the amounts of reactants that products give back, whose shortage the changes alone do not show.

        A law that vanishes without a single molecule needs no condition.
        """
        return {
            name: amount
            for name, amount in taken.items()
            if amount > max(-changes.get(name, 0), 0) and not (amount == 1 and vanishes_without(rate, name))
        }

    def _read_changes(self, reaction: Element, where: str) -> tuple[dict[str, int], dict[str, int]]:
        """Return a reaction's amounts of reactants, and the changes of all amounts, by species, without zeros."""
        changes: dict[str, int] = {}
        taken: dict[str, int] = {}
        for kind, sign in (("listOfReactants", -1), ("listOfProducts", 1), ("listOfModifiers", 0)):
            references: list[Element] = reaction.findall(f"{kind}/*")
            for reference in references:
                name = reference.get("species", "")
                if name not in self.species:
                    raise self.error(where, f"{name!r} is no species of the model")
                if not sign:
                    continue
                amount = self.real(reference, "stoichiometry")
                if amount is None and self.level > 2:
                    raise self.error(where, f"stoichiometry of {name!r} is missing")
                amount = Fraction(1) if amount is None else amount
                if amount.denominator != 1 or not 0 <= amount < INT_LIMIT:
                    message = f"stoichiometry {float(amount):g} of {name!r}: a whole number is expected"
                    raise self.error(where, message)
                if name in self.counts:
                    changes[name] = changes.get(name, 0) + sign * int(amount)
                    if sign < 0:
                        taken[name] = taken.get(name, 0) + int(amount)
                elif name not in self.fixed:
                    raise self.error(where, f"{name!r} has an assignment rule: reactions cannot change it")
                elif not self.truth(self.species[name], "boundaryCondition", default=False):
                    message = f"{name!r} is constant without boundaryCondition: must be no reactant and no product"
                    raise self.error(where, message)
        return {name: n for name, n in taken.items() if n}, {name: n for name, n in changes.items() if n}


def _conjunction(one: Expression, other: Expression) -> Expression:
    """Return the condition ``one & other``."""
    return Chain(one, (("&", other),), 1)


def _disjunction(conditions: Iterable[Expression]) -> Expression:
    """Return the condition that any of the conditions holds."""
    first, *others = conditions
    return Chain(first, tuple(("|", condition) for condition in others), 1) if others else first
