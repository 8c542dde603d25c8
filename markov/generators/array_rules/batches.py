"""The transitions out of many states, by running the rules once on arrays of them."""

from __future__ import annotations

from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from markov.generators.array_rules.frames import Changed, Frame, ManyStates, holds_arrays, taken
from markov.generators.array_rules.operations import LIMIT, NotOnArraysError
from markov.generators.array_rules.translation import Function, translated

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.generators.calls import Calls
    from markov.models.spaces import Space

__all__ = ["ArrayRules", "Transitions"]

GROUPS = 32  # sets of states that differ in components which are no whole numbers


class Transitions(NamedTuple):
    """Transitions out of some states, of each state in the order in which the rules yield them.

    Attributes
    ----------
    sources
        Places among the states that were given, shape (transitions,).
    targets
        Numbers in the product space, shape (transitions,).
    rates
        In 1/s, > 0, shape (transitions,).
    bad
        Places of states with an invalid transition, which plain Python is to name: none of theirs is listed.
    """

    sources: NDArray[np.int64]
    targets: NDArray[np.int64]
    rates: NDArray[np.float64]
    bad: NDArray[np.int64]


class ArrayRules:
    """The rules of a model, ready to run on arrays.

    Raises
    ------
    NotOnArraysError
        Where they have no translation.
    """

    def __init__(self, calls: Calls, space: Space) -> None:
        make = calls.make
        if make is None or space.make is not calls.model.State or not space.coded:
            raise NotOnArraysError("states without names")
        if make._replace.__module__ != "collections" and "_same" not in make._replace.__globals__:
            raise NotOnArraysError("states with a _replace of their own")
        if any(abs(end) >= LIMIT for low, n in zip(space.low, space.shape, strict=True) for end in (low, low + n)):
            raise NotOnArraysError("large components")
        rules: Any = calls.model.rules
        self.before: tuple[Any, ...] = ()
        if isinstance(rules, MethodType):
            self.before, rules = (rules.__self__,), rules.__func__
        if type(rules) is not FunctionType or rules.__defaults__ or not rules.__code__.co_flags & 0x20:
            raise NotOnArraysError("rules that are no generator function of states and parameters")
        count = rules.__code__.co_argcount - len(self.before)
        if count not in (1, 2):
            raise NotOnArraysError("rules with other arguments")
        self.function: Function = translated(rules)
        self.after = (calls.q,) if count == 2 else ()
        self.make, self.space = make, space
        self.firsts, place = [], 0
        for width in space.widths:
            self.firsts.append(place)
            place += 1 if width is None else width

    def transitions(self, numbers: NDArray[np.int64]) -> Transitions:
        """Return the transitions out of the states with these numbers; NotOnArraysError where arrays cannot do that."""
        codes = self.space.unnumbered(numbers)
        listed = [n for n, c in enumerate(self.space.components) if not isinstance(c.values, range)]
        run = _Run(self, numbers)
        try:
            with np.errstate(all="ignore"):  # what is not finite is looked at
                if not listed:
                    self._run(run, codes, None)
                else:
                    keys, group = np.unique(codes[listed], axis=1, return_inverse=True)
                    if keys.shape[1] > GROUPS:
                        raise NotOnArraysError("many values that are no whole numbers")
                    for k in range(keys.shape[1]):
                        self._run(run, codes, np.flatnonzero(group.ravel() == k))
        except NotOnArraysError:
            raise
        except Exception as error:  # a rule may raise anything: plain Python is to say in which state
            raise NotOnArraysError(str(error)) from error
        return run.transitions()

    def _run(self, run: _Run, codes: NDArray[np.int64], group: NDArray[np.int64] | None) -> None:
        """Run the rules for the states of one group, which agree in all that is no whole number."""
        own = codes if group is None else codes[:, group]
        values = [
            code if isinstance(c.values, range) else c.values[int(code[0])]
            for c, code in zip(self.space.components, own, strict=True)
        ]
        state = ManyStates(self.make, tuple(self.space.joined(values)))
        run.begin(state, group)
        frame = Frame.first(own.shape[1], run.receive, translated)
        self.function.run((*self.before, state, *self.after), frame)


class _Run:
    """Collects the transitions that the rules yield for some states."""

    def __init__(self, rules: ArrayRules, numbers: NDArray[np.int64]) -> None:
        self.rules, self.space, self.numbers = rules, rules.space, numbers
        self.sources: list[Any] = []
        self.targets: list[Any] = []
        self.rates: list[Any] = []
        self.bad: list[Any] = []
        self.state: Any = None
        self.group: NDArray[np.int64] | None = None

    def begin(self, state: ManyStates, group: NDArray[np.int64] | None) -> None:
        """Go on with other states."""
        self.state, self.group = state, group

    def receive(self, places: Any, count: int, target: Any, rate: Any) -> None:
        """Take one transition of ``count`` states at some places of the group; None: all."""
        if not count:
            return
        own = places if self.group is None else self.group if places is None else self.group[places]
        own = np.arange(count) if own is None else own
        happens: Any = None
        if type(rate) is np.ndarray:
            rate = rate if rate.dtype == np.float64 else rate.astype(np.float64)
            if not (rate.min() > 0.0 and rate.max() < np.inf):
                happens = (rate > 0.0) & (rate < np.inf)
                self._refuse(own[~(happens | (rate == 0.0))])
        elif type(rate) not in (int, float, bool, np.float64):
            raise NotOnArraysError("a rate that is no number")
        elif not 0.0 < rate < np.inf:
            if rate != 0.0:
                self._refuse(own)
            return
        step, inside = self._step(places, target)
        if inside is not True and not np.all(inside):
            outside = ~(inside | np.zeros(count, dtype=bool))
            self._refuse(own[outside if happens is None else outside & happens])
            happens = ~outside if happens is None else happens & ~outside
        targets = self.numbers[own] + step
        rates = rate if type(rate) is np.ndarray else np.full(count, float(rate))
        if happens is not None and not happens.all():
            own, targets, rates = own[happens], targets[happens], rates[happens]
        self.sources.append(own)
        self.targets.append(targets)
        self.rates.append(rates)

    def _refuse(self, places: Any) -> None:
        if len(places):
            self.bad.append(places)

    def _step(self, places: Any, target: Any) -> tuple[Any, Any]:
        """Return by how much the states' numbers change, and whether targets are in the space."""
        if type(target) is ManyStates:
            return 0, True
        if type(target) is Changed:
            base, items = target.base, list(target.values.items())
        elif isinstance(target, tuple) and len(target) == len(self.rules.firsts):
            base = self.state if places is None else taken(self.state, places)
            items = list(enumerate(target))
        else:
            raise NotOnArraysError("a target of another kind")
        step: Any = 0
        inside: Any = True
        for field, value in items:
            own, first, width = (
                base.field(field),
                self.rules.firsts[field],
                self.space.widths[field],
            )
            if value is own:
                continue
            if width is None:
                pairs = [(value, own)]
            elif isinstance(value, tuple) and len(value) == width:
                pairs = list(zip(value, own, strict=True))
            else:
                raise NotOnArraysError("a vector of another length")
            for number, (new, old) in enumerate(pairs, first):
                if new is not old:
                    change, fits = self._change(number, new, old)
                    step = step + self.space.weights[number] * change
                    inside = fits if inside is True else inside & fits
        return step, inside

    def _change(self, number: int, new: Any, old: Any) -> tuple[Any, Any]:
        """Return the change of the code of a component, and whether the new value is one of its values."""
        component = self.space.components[number]
        if not isinstance(component.values, range):
            if holds_arrays(new):
                raise NotOnArraysError("a number for a component that has none")
            try:
                return component.values.index(new) - component.values.index(old), True
            except ValueError:
                return 0, False
        low = self.space.low[number]
        end = low + self.space.shape[number]
        if type(new) is np.ndarray:
            if new.dtype.kind == "f" or (self.space.exact and new.dtype.kind != "i"):
                return 0, np.zeros(len(new), dtype=bool)  # whole or not, Python is to say
            new = new.astype(np.int64, copy=False)
            fits = (new >= low) & (new < end)
            return new - old, True if fits.all() else fits
        if type(new) is not int and (self.space.exact or type(new) is not bool):
            return 0, False
        return int(new) - old, bool(low <= new < end)

    def transitions(self) -> Transitions:
        """Return what was collected."""
        none = np.zeros(0, dtype=np.int64)
        bad = np.unique(np.concatenate([none, *self.bad]))
        if not self.sources:
            return Transitions(none, none, np.zeros(0), bad)
        sources, targets, rates = map(np.concatenate, (self.sources, self.targets, self.rates))
        if len(bad):
            wrong = np.zeros(len(self.numbers), dtype=bool)
            wrong[bad] = True
            good = ~wrong[sources]
            sources, targets, rates = sources[good], targets[good], rates[good]
        return Transitions(sources, targets, rates, bad)
