"""A model read from a file: its chain, and the values of its properties."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path as File
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from hopflow.checks import choice, file_path, instance, integer, one_number
from hopflow.fork_safety import cached_property
from hopflow.kernels.stopwatch import Stopwatch
from hopflow.results import OnFailure, deliver, same
from hopflow.units import quantities
from markov.chains import MarkovChain
from markov.computing.memory import TooLargeError
from markov.computing.rate_range import rates_in_range
from markov.computing.time_limits import MAX_SECONDS, time_limit
from markov.files.binding import Instance, constants_of, instantiate
from markov.files.errors import FileError
from markov.files.parsing.jani import parse_jani
from markov.files.parsing.prism_parsing import parse_prism
from markov.files.parsing.property_parsing import parse_properties, parse_property
from markov.files.program import Program
from markov.files.properties.answers import PropertyResult, answer_property
from markov.files.properties.checking import Definitions, Evaluation
from markov.files.properties.csl import Checker
from markov.files.properties.queries import Operator, Properties, has_times
from markov.files.properties.unlisted import Unlisted
from markov.files.resets import explore_with_resets
from markov.files.rewards import rewards_of
from markov.files.states.state_space import StateSpace, explore
from markov.files.values import Value, constant
from markov.files.views import chain_of
from markov.generators.building import MAX_STATES
from markov.time.exponentials import TimedJump

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["FileModel", "read_jani", "read_prism"]


def read_prism(path: str | File, *, constants: Mapping[str, Any] | None = None, most: int = MAX_STATES) -> FileModel:
    """Return the model of a file in the PRISM language.

    Parameters
    ----------
    path
        The file: a continuous-time Markov chain (``ctmc``). A ``dtmc`` is parsed, and refused where its chain or a
        property is asked for.
    constants
        Values of constants by name, required for constants without a value; they replace values in the file.
    most
        Largest number of states; with more, TooLargeError.

    Raises
    ------
    FileError
        A ValueError, with the line and the reason, where the file cannot be used.

    Notes
    -----
    Nothing in a file is run as Python. Files above 64 MiB and expressions nested more than 60 deep are refused. Only
    reachable states count, however large the product of the variables is.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from markov import read_prism
    >>> text = '''ctmc
    ... const double fails = 0.01;
    ... module machine
    ...   up : bool init true;
    ...   [] up -> fails : (up' = false);
    ...   [] !up -> 1 : (up' = true);
    ... endmodule
    ... '''
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "machine.sm")
    ...     _ = path.write_text(text)
    ...     model = read_prism(path, constants={"fails": 0.25})
    >>> model.property("S=? [ up ]").value
    0.8
    """
    return FileModel(parse_prism(path), constants, most)


def read_jani(path: str | File, *, constants: Mapping[str, Any] | None = None, most: int = MAX_STATES) -> FileModel:
    """Return the model of a JANI file, with its properties; arguments as for `read_prism`.

    Raises
    ------
    FileError
        A ValueError, with the place in the file and the reason, where it cannot be used: it is no
        JSON, no continuous-time Markov chain, or uses arrays or other extensions.

    Examples
    --------
    >>> import json
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from markov import read_jani, stationary
    >>> def edge(source, target, rate):
    ...     ends = [{"location": target}]
    ...     return {"location": source, "rate": {"exp": rate}, "destinations": ends}
    >>> machine = {
    ...     "name": "machine",
    ...     "locations": [{"name": "up"}, {"name": "down"}],
    ...     "initial-locations": ["up"],
    ...     "edges": [edge("up", "down", 0.25), edge("down", "up", 1.0)],
    ... }
    >>> system = {"elements": [{"automaton": "machine"}]}
    >>> model = {"jani-version": 1, "name": "machine", "type": "ctmc", "system": system}
    >>> model |= {"variables": [], "automata": [machine], "properties": []}
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "machine.jani")
    ...     _ = path.write_text(json.dumps(model))
    ...     found = read_jani(path)
    >>> stationary(found).pi.tolist()
    [0.8, 0.2]
    """
    program, properties = parse_jani(file_path("path", path))
    model = FileModel(program, constants, most)
    model.properties = properties
    return model


@contextmanager
def _name_nesting_error(file: str) -> Iterator[None]:
    """Turn Python's limit of nested calls into an error of the file."""
    try:
        yield
    except RecursionError:
        raise FileError((file, None), "formulas and expressions are nested too deep") from None


class FileModel:
    """A model read from a file; `stationary`, `transient` and `passage` take it as it is.

    Parameters
    ----------
    program
        Contents of the file.
    constants
        Values of constants by name.
    most
        Largest number of states; with more, TooLargeError.

    Examples
    --------
    See `read_prism`, which returns one.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from markov import read_prism, stationary
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "light.sm")
    ...     text = "ctmc module m x : [0..1] init 0; [] true -> 1 + x : (x' = 1 - x); endmodule"
    ...     _ = path.write_text(text)
    ...     model = read_prism(path)
    >>> model.chain.size, stationary(model).pi.round(4).tolist()
    (2, [0.6667, 0.3333])
    """

    def __init__(self, program: Program, constants: Mapping[str, Any] | None = None, most: int = MAX_STATES) -> None:
        self.program, self.most = program, integer("most", most, 1, 10**12)
        values = dict(instance("constants", {} if constants is None else constants, Mapping))
        # others may be constants of properties
        model_constants = {name: value for name, value in values.items() if name in program.constants}
        self._property_constants = {name: value for name, value in values.items() if name not in model_constants}
        self._model_constants = model_constants
        with _name_nesting_error(program.file):
            self.instance: Instance = instantiate(program, model_constants)
        self.properties: Properties | None = None

    @property
    def name(self) -> str:
        """The file's name."""
        return self.program.file

    @cached_property
    def state_space(self) -> StateSpace:
        """Reachable states, and the rates between them."""
        return self._exploration[0]

    @cached_property
    def _exploration(self) -> tuple[StateSpace, tuple[TimedJump, ...]]:
        self._check_names(self._property_constants)
        with _name_nesting_error(self.name):
            if self.program.resets:
                return explore_with_resets(self.instance, self.most)
            return explore(self.instance, self.most), ()

    def _check_names(self, names: Mapping[str, Any]) -> None:
        """Raise ValueError for constants of neither the file nor its properties."""
        property_constants = () if self.properties is None else self.properties.constants
        choices = (*self.program.constants, *property_constants)
        for name in names:
            choice("constants", name, choices)

    @property
    def timed_jumps(self) -> tuple[TimedJump, ...]:
        """Events at given times (SBML); only `transient` supports them."""
        return self._exploration[1] if self.program.resets else ()

    @cached_property
    def chain(self) -> MarkovChain:
        """The `MarkovChain` of the reachable states: labels and rewards of the file are its measures.

        Raises
        ------
        FileError
            For a model with discrete time, and for events at given times, between which alone rates are constant.
        """
        self._check_no_resets()
        return self.chain_between_events

    @cached_property
    def chain_between_events(self) -> MarkovChain:
        """The chain, which events at given times (SBML) interrupt."""
        if self.program.kind != "ctmc":
            message = "a model with discrete time: must be a ctmc"
            raise FileError((self.name, None), message)
        return chain_of(self)

    def _check_no_resets(self) -> None:
        if self.program.resets:
            message = "events at given times: only transient, from the model's start, takes them"
            raise FileError((self.name, None), message)

    def checker(self, proof: Literal[True, "tight"] = True) -> Checker:
        """Return the evaluator of CSL operators on the chain, which caches its solutions."""
        checkers: dict[Any, Checker] = self.__dict__.setdefault("_checkers", {})
        if proof not in checkers:
            checkers[proof] = Checker(self.state_space.Q, self.state_space.loops, proof)
        return checkers[proof]

    def with_constants(self, changes: Mapping[str, Any]) -> FileModel:
        """Return the model with changed values of constants."""
        return FileModel(self.program, {**self._property_constants, **self._model_constants, **changes}, self.most)

    def with_properties(self, path: str | File) -> FileModel:
        """Return the model with the properties of a file, which ``.property(name)`` evaluates."""
        model = FileModel.__new__(FileModel)
        model.__dict__.update(self.__dict__)
        model.properties = parse_properties(path)
        return model

    @quantities(max_seconds="time")
    def property(
        self,
        text: str,
        *,
        constants: Mapping[str, Any] | None = None,
        proof: Literal[True, "tight"] = True,
        max_seconds: float = MAX_SECONDS,
        on_failure: OnFailure = "raise",
    ) -> PropertyResult:
        """Return the value of a property, with a bound on its error.

        Parameters
        ----------
        text
            The property, ``'S=? [ x > 3 ]'`` or ``'"often": S=? [ x > 3 ]'``, or its name in the file
            of properties. Names in quotes stand for other properties of that file.
        constants
            Values of the properties' constants, by name.
        proof
            Proof of stationary distributions, as for `stationary`: ``"tight"`` bounds them sharply for iterative
            methods as well. The value has the bound of the measure either way.
        max_seconds
            Limit in s: an operator over a time whose predicted computation exceeds it is refused, with the prediction.
        on_failure
            ``"raise"`` or ``"return"``: what to do where the property is undecided, or without a bound.

        Raises
        ------
        FileError
            With the reason, for a string that is no CSL property of this model.
        UndecidedError
            Where a number lies within its error of the threshold. ``on_failure="return"`` gives the
            result, whose value is None.
        """
        choice("proof", proof, (True, "tight"))
        seconds = one_number("max_seconds", max_seconds, above=0.0)
        watch = Stopwatch()
        query, properties = self._query(text)
        text = properties.text_of(text)
        try:
            with _name_nesting_error(self.name):
                evaluation = self._evaluation(properties, constants, proof)
                with rates_in_range(evaluation.checker.Q), time_limit(seconds):
                    result = answer_property(evaluation, query, text)
        except TooLargeError:
            declared = self._constant_values(properties, constants)
            unlisted = Unlisted(self.instance, declared, self.most)
            result = unlisted.result(query, text, lambda: self._stationary)
        result = replace(result, seconds=watch.seconds())
        return deliver(result, on_failure)

    def follows_time(self, text: str) -> bool:
        """Whether a property, or its name, has an operator over a time, such as ``F<=1``."""
        query, properties = self._query(text)
        return has_times(query, properties.properties)

    def long_run_functions(self, texts: Sequence[str]) -> dict[str, NDArray[np.float64]]:
        """Return the functions of the state, shape (states,), whose long-run means are the values of properties.

        Parameters
        ----------
        texts
            Properties ``S=? [ states ]`` and ``R=? [ S ]``, or their names, as `property` takes them.

        Raises
        ------
        FileError
            For other properties.
        """
        functions = {}
        for text in texts:
            query, properties = self._query(text)
            evaluation = self._evaluation(properties, None, True)
            f = (
                evaluation.operators.long_run_function(query)
                if isinstance(query, Operator) and query.start is None and not query.how
                else None
            )
            if f is None or query.sign is not None:
                message = "must be the long-run mean of a function of the state, S=? [ ... ] or R=? [ S ]"
                raise FileError((text, None), message)
            functions[properties.text_of(text)] = f
        return functions

    @cached_property
    def _stationary(self) -> Any:
        from markov.driver import stationary

        return stationary(self)

    def _query(self, text: str) -> tuple[Any, Properties]:
        """Return a property as a tree, and the properties of its file."""
        self._check_no_resets()
        if self.program.kind != "ctmc":
            raise FileError((self.name, None), "properties of models with discrete time are not read")
        properties = self.properties or Properties("property")
        named = text in properties.properties
        query = properties.properties[text] if named else parse_property(text)
        if isinstance(query, FileError):
            raise query
        return query, properties

    def _evaluation(
        self, properties: Properties, constants: Mapping[str, Any] | None, proof: Literal[True, "tight"]
    ) -> Evaluation:
        constant_values = self._constant_values(properties, constants)
        defined = Definitions(properties.file, properties.labels, properties.properties)
        checker = self.checker(proof)
        return Evaluation(self.state_space, checker, self.rewards, constant_values, defined, self.label_values)

    def _constant_values(self, properties: Properties, constants: Mapping[str, Any] | None) -> dict[str, Value]:
        """Return the values of the constants of a file of properties."""
        self._check_names({} if constants is None else constants)
        values = {**self._property_constants, **(constants or {})}
        declared = constants_of(
            properties.file,
            properties.constants,
            {k: v for k, v in values.items() if k in properties.constants},
            self.instance.scope.symbols,
        )
        return {name: constant(v) for name, v in declared.items()}

    def label_values(self, name: str) -> Value | None:
        """Return the values of a label of the file in the states; None if it is not defined."""
        labels = self.state_space.instance.scope.labels
        value: Value | None = None if labels is None else labels(name)
        return value

    def rewards(self, name: Any, location: Any = ("model", None)) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return rewards per second without and with rewards of transitions, shape (states,) each.

        Parameters
        ----------
        name
            Name of the reward structure, or its number from one; None: the first.
        location
            Location of the request, in messages.
        """
        names = list(self.program.rewards)
        if not names:
            raise FileError(location, "the model has no rewards")
        if name is None:
            name = names[0]
        if isinstance(name, int):
            if not 1 <= name <= len(names):
                raise FileError(location, f"rewards {name}: must be 1 to {len(names)}")
            name = names[name - 1]
        if name not in names:
            raise FileError(location, f"rewards {name!r}: must be one of {', '.join(map(repr, names))}")
        return rewards_of(name, self.program, self.state_space)

    def _content(self) -> tuple[Any, ...]:
        """Return the program, the constants, the maximum number of states, and the properties."""
        return self.program, {**self._property_constants, **self._model_constants}, self.most, self.properties

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FileModel):
            return NotImplemented
        return self is other or same(self._content(), other._content())

    def __hash__(self) -> int:
        return hash((FileModel, self.name))

    def __reduce__(self) -> tuple[Any, ...]:
        return _model_of, self._content()

    def __repr__(self) -> str:
        constants = ", ".join(f"{name}={value}" for name, value in self.instance.constants.items())
        return f"FileModel({self.name!r}, {constants})"


def _model_of(
    program: Program, constants: Mapping[str, Any], max_states: int, properties: Properties | None
) -> FileModel:
    """Return the model that was pickled."""
    model = FileModel(program, constants, max_states)
    model.properties = properties
    return model
