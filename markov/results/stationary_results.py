"""A stationary distribution with its proof and its measures."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, overload

import numpy as np

from hopflow.checks import format_value
from hopflow.fork_safety import cached_property
from hopflow.parameters import param, validate_parameters
from hopflow.results import Status, names_beside, short_text
from markov.chains import InSteps
from markov.computing.rounding import U
from markov.models.bare import NO_MEASURES, has_no_measures
from markov.models.measures import COMPONENT, measures_of, resolve_function, resolve_measure
from markov.proofs.certificate_files import listing_of, write_certificate
from markov.proofs.certificates import Certificate
from markov.proofs.means import ExactMeans, asymptotic_variance, bound_measure, deviation, input_error
from markov.results.answers import Solved
from markov.results.plots import draw_convergence, draw_marginals
from markov.selections import select_states
from markov.sensitivities.results import Sensitivity
from markov.sensitivities.stationary import Solutions, sensitivity_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from fractions import Fraction
    from pathlib import Path

    import xarray as xr
    from numpy.typing import ArrayLike, NDArray

    from markov.chains import MarkovChain
    from markov.methods.solution import Method
    from markov.models.measures import Measure
    from markov.proofs.bounded import Bounded, ExactBounded

    Averaged = str | ArrayLike | tuple[ArrayLike, ArrayLike]
    """A name, a function of the state, or two functions for a ratio of means."""

__all__ = ["Stationary"]

TOLERANCE = 2e-13  # relative, of the equations behind a variance


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class Stationary(Solved):
    """Stationary distribution of a chain or of one of its recurrent classes, with its error bound and measures.

    Attributes
    ----------
    chain
        The solved `MarkovChain`.
    pi
        Shape (states,), in the order of ``states``; zero in the transient states.
    method, reason
        The method, and the reason for its choice.
    residual
        ||pi Q||_1 / ||pi |Q|||_1.
    error_bound
        Rigorous upper bound on |pi(A) - true(A)| for every set A of states, at most one. Half of
        sum |pi - true|, the other meaning of total variation, is at most as large; the two differ by half of
        `mass_defect`. inf if no bound was requested or could be verified, which does not mean that pi is
        inaccurate: see `markov.proofs.certificates.Certificate` for the method.
    entry_error
        Rigorous upper bound on |pi(x) - true| / true for every recurrent state x, by the number of
        operations of an elimination without subtractions: at any stiffness. inf for other methods, and
        where a rate or a probability may have been lost to underflow.
    proof
        The proof of the bound, with factors or levels that `bound` uses again; None without proof.
        Pickled answers omit it; `bound` and `certificate` compute it again.
    iterations
        Iterations of the method; 0 of a direct method.
    history
        Reports of an iterative method: (iteration, relative residual).
    levels
        States and transitions of each level of a multigrid method, the finest first; () of other methods.
    exact
        The probabilities as fractions, in the order of ``states``, where they were requested.

    Examples
    --------
    >>> from markov import PauseTandem, stationary
    >>> answer = stationary(PauseTandem())
    >>> round(answer.throughput, 4), answer.probability((0, 0, 1, 1)) > 0.0
    (13.7401, True)
    """

    COMPARED_BY: ClassVar[str] = "markov.analysis.answer_comparisons:AnswerComparison"

    FOLDED: ClassVar = (
        "transitions", "recurrent classes", "method", "reason", "residual", "rounding of the rates",
        "smallest entry", "mass defect", "iterations", "level", "memory", "time",
    )  # fmt: skip

    chain: MarkovChain
    pi: NDArray[np.float64]
    method: Method
    reason: str
    error_bound: float
    entry_error: float = math.inf
    proof: Certificate | None = None
    iterations: int = 0
    history: tuple[tuple[int, float], ...] = ()
    levels: tuple[tuple[int, int], ...] = ()
    exact: tuple[Fraction, ...] | None = None

    @cached_property
    def _class(self) -> int:
        """Index in the chain's ``recurrent_classes`` of the class to which the solution belongs."""
        likely = int(np.argmax(self.pi))
        classes = self.chain.recurrent_classes
        return next(number for number, states in enumerate(classes) if likely in states)

    @property
    def _recurrent(self) -> NDArray[np.int64]:
        """The states of the solved recurrent class, as sorted indices."""
        return self.chain.recurrent_classes[self._class]

    @property
    def smallest(self) -> float:
        """Smallest probability of a state in the solved recurrent class."""
        return float(self.pi[self._recurrent].min())

    @property
    def mass_defect(self) -> float:
        """Absolute difference between the sum of pi and one."""
        return abs(1.0 - math.fsum(self.pi))

    @property
    def states(self) -> Any:
        """The states in the order of pi, as `MarkovChain.states` has them."""
        return self.chain.states

    def probability(self, states: Any) -> float:
        """Return the stationary probability of one state or of a set of states.

        Parameters
        ----------
        states
            A state, as a ``State``, a tuple, or a name; or a set of states: a function of a state, the name of a label,
            a list of states, or truth values of shape (states,).

        Raises
        ------
        KeyError
            When the chain has no such state.
        ValueError
            When no state is in the set. A label without states has probability 0.

        Examples
        --------
        >>> from markov import MM1K, stationary
        >>> answer = stationary(MM1K(arrival_rate=1.0, service_rate=1.0, capacity=3))
        >>> round(answer.probability(lambda s: s.n >= 2), 12), round(answer.probability((0,)), 12)
        (0.5, 0.25)
        """
        is_label = isinstance(states, str) and states in self._measures
        is_array = hasattr(states, "__array__") and np.ndim(states) > 0
        if callable(states) or is_label or is_array or isinstance(states, (list, set, frozenset)):
            return math.fsum(self.pi[select_states(self.chain, states, "states", allow_empty_label=True)])
        try:
            return float(self.pi[self.chain.number_of(states)])
        except KeyError:
            labels = ", ".join(map(repr, self._measures)) or "none"
            message = f"states = {format_value(states)}: is no state of the chain; labels and rewards: {labels}"
            raise KeyError(message) from None

    @overload
    def bound(
        self, measure: Averaged, *, tolerance: float = ..., exact: Literal[False] = ...
    ) -> Bounded | list[Bounded]: ...

    @overload
    def bound(
        self, measure: Averaged, *, tolerance: float = ..., exact: Literal[True]
    ) -> ExactBounded | list[ExactBounded]: ...

    @validate_parameters
    def bound(
        self,
        measure: Averaged,
        *,
        tolerance: float = param(2e-13, at_least=0.0),
        exact: bool = param(False),
    ) -> Bounded | list[Bounded] | ExactBounded | list[ExactBounded]:
        """Return a measure's mean with an error bound, more accurate than the sum over ``pi``.

        The solution of Poisson's equation for a function of the state takes the error of pi out of its
        mean to first order (see `markov.proofs.means.bound_mean`). The first call may take as long as the
        error bound, others less: they share factors or levels.

        Parameters
        ----------
        measure
            Name of a label or reward of the model; or a function f of the state, shape (states,), in any
            unit, for its mean; or two functions, (f, g), for the ratio of their means.
        tolerance
            Relative error at which multigrid stops, if it gets there. Factors go to rounding at once.
        exact
            True evaluates in integers, as a `certificate` does: value and ends are fractions, and the error is not
            limited by the digits of a float64. It takes about 5 microseconds of CPU per transition at the first call,
            and 0.6 for each further measure. ``tolerance`` does not matter.

        Returns
        -------
        Bounded or list of Bounded, ExactBounded or list of ExactBounded
            In the measure's unit; a list for a measure of each queue, as for the leading dimension of an
            array of shape (queues, states).

        Raises
        ------
        ValueError
            For a name that is no label or reward, an array of another shape or with entries that are
            not finite where the chain recurs. With ``exact``, where nothing is proved, and for a ratio whose
            denominator may be zero.

        Examples
        --------
        >>> from markov import stationary
        >>> answer = stationary([[-1.0, 1.0], [3.0, -3.0]])
        >>> first = answer.bound([1.0, 0.0])
        >>> first.value, first.error < 1e-15
        (0.75, True)
        >>> answer.bound(([1.0, 0.0], [0.0, 1.0])).value
        3.0
        >>> answer.bound([1.0, 0.0], exact=True)
        3/4 +- 0
        """
        mean = resolve_measure(measure, self.chain.model, self.chain.table, self._recurrent)
        if exact:
            return self._exact_means.bound_measure(mean)
        return bound_measure(self._certificate, mean, tolerance)

    def input_error(self, measure: str | ArrayLike | tuple[ArrayLike, ArrayLike]) -> Any:
        """Return by how much rounding of the rates to float64 can change a measure, to first order.

        To first order, and accurate to about a percent: half a unit in the last place of every
        rate changes the mean of f by at most u sum pi(s) q(s, t) |g(t) - g(s)| with the solution g of
        its Poisson equation, u = 2^-53. Each entry of pi changes by at most 2 (n - 1) u of itself.

        Parameters
        ----------
        measure
            As for `bound`.

        Returns
        -------
        float or list of float
            In the measure's unit; NaN where Poisson's equation could not be solved.
        """
        mean = resolve_measure(measure, self.chain.model, self.chain.table, self._recurrent)
        return input_error(self._certificate, mean)

    def variance(self, measure: str | ArrayLike | tuple[ArrayLike, ArrayLike]) -> Any:
        """Return the asymptotic variance of time averages of a measure, with a bound.

        The mean of f(X(t)) over a time T has a variance of nearly this over T: a simulation of T s
        has a confidence interval of +- 1.96 sqrt(variance / T). It is about time averages of rewards
        per second, not about counts of transitions. Of a `DiscreteChain` T is a number of steps.

        Parameters
        ----------
        measure
            As for `bound`; of a ratio of means it is the variance of the ratio, by the delta method.

        Returns
        -------
        Bounded or list of Bounded
            In the square of the measure's unit, times s; of a `DiscreteChain` times steps.

        Examples
        --------
        >>> from markov import stationary
        >>> answer = stationary([[-1.0, 1.0], [3.0, -3.0]])
        >>> result = answer.variance([0.0, 1.0])  # 2 a b / (a + b)^3
        >>> round(result.value, 12), result.error < 1e-14
        (0.09375, True)
        """
        mean = resolve_measure(measure, self.chain.model, self.chain.table, self._recurrent)
        variances = asymptotic_variance(self._certificate, mean, TOLERANCE, in_steps=isinstance(self.chain, InSteps))
        return variances if mean.of.ndim > 1 else variances[0]

    def deviation(self, measure: str | ArrayLike) -> Any:
        """Return D f for a reward f, shape (states,): the integral over t of E[f(X(t)) | X(0) = x] - pi f.

        Of a `DiscreteChain` it is the sum over the steps, and of a periodic one the limit of its means.

        Parameters
        ----------
        measure
            Name of a label or reward; or numbers of shape (states,).

        Returns
        -------
        numpy.ndarray
            Shape (states,), in the reward's unit times s or steps, pi-mean zero; NaN in states that are not
            recurrent.
        """
        f = resolve_function(measure, self.chain.model, self.chain.table, self._recurrent)
        deviations = deviation(self._certificate, f, TOLERANCE).values
        values = np.full(self.chain.size, np.nan)
        values[self._recurrent] = deviations - float(self.pi[self._recurrent] @ deviations)
        return values

    def certificate(
        self,
        path: str | Path,
        *,
        measures: Sequence[str] | Mapping[str, Any] | None = None,
        model: str | Path | None = None,
        constants: Mapping[str, Any] | None = None,
    ) -> None:
        """Write the proof of ``pi`` into a file that `hopflow check` verifies in exact integers.

        The file lists the states of the recurrent class, their probabilities, the transitions, and the
        functions of the proof. A checker needs nothing else, and no part of this package.

        Parameters
        ----------
        path
            The file; compressed where its name ends in ``.gz``.
        measures
            Names of labels and rewards whose means are proved as well, one number for each state; None: all. A
            mapping gives names to them, to functions of the state, or to arrays over the states of the chain.
        model
            A PRISM or JANI file that the chain was read from: rates are then the decimals in it, exactly, instead of
            float64.
        constants
            Values of its constants by name.

        Raises
        ------
        ValueError
            Where nothing is proved, for a measure that is a ratio or a vector, or a model that has other
            transitions.

        Examples
        --------
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from markov import stationary
        >>> from markov.proofs.checker import check
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder, "two.cert")
        ...     stationary([[-1.0, 1.0], [3.0, -3.0]]).certificate(path)
        ...     print(check(path).bound)
        0
        """
        proof = self._certificate
        listing = listing_of(self.chain, self._recurrent, proof.Q, measures, model, constants)
        write_certificate(path, proof, listing)

    @validate_parameters
    def sensitivity(
        self,
        parameter: str,
        of: str,
        tolerance: float = param(1e-8, above=0.0, below=1.0),
        *,
        side: Literal["left", "right"] | None = param(None, choices=(None, "left", "right")),
    ) -> Sensitivity | list[Sensitivity]:
        """Return the derivative and the elasticity of a stationary measure by a parameter of the model.

        A whole number (``servers=3``, not 3.0, unless the model declares it as a float) has no
        derivative: the result is the difference to one more, and its ``kind`` says so.

        Parameters
        ----------
        parameter
            Name of the parameter; of a parameter with several entries ``"arrival_rates[0]"``.
        of
            Name of a label or reward of the model.
        tolerance
            Tolerance of the iterations, relative to the derivative or to measure / parameter; the
            reached error is in the result.
        side
            ``"left"`` or ``"right"``: the derivative from below or above, at a kink; the difference to
            one less or to one more.

        Returns
        -------
        Sensitivity or list of Sensitivity
            A list for a measure of each queue.

        Raises
        ------
        NoDerivativeError
            Where the derivatives from both sides differ, or the measure jumps; it states both.
        ValueError
            For an unknown name; for a parameter that is no number, is zero, or changes the states.

        Examples
        --------
        >>> from markov import PauseTandem, stationary
        >>> answer = stationary(PauseTandem())
        >>> result = answer.sensitivity("bottleneck_rate", of="throughput")
        >>> 0.0 < result.derivative < 1.0, result.error < 1e-8
        (True, True)
        """
        solved = Solutions(self.chain, self._certificate, self._recurrent, self._deviations)
        return sensitivity_of(solved, parameter, of, tolerance, side)

    @cached_property
    def _deviations(self) -> dict[Any, Any]:
        """Cache of solutions of Poisson's equation for measures, which all parameters share."""
        return {}

    @cached_property
    def _certificate(self) -> Certificate:
        """The proof of the error bound; computed now if the answer has none."""
        if self.proof is not None:
            return self.proof
        chain, states = self.chain, self._recurrent
        Q = chain.irreducible(self._class)
        return Certificate(Q, self.pi[states], chain.components_of(states))

    @cached_property
    def _exact_means(self) -> ExactMeans:
        """Evaluator of means in integers, which all measures share."""
        return ExactMeans(self._certificate)

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes to pickle, without the certificate, since it may hold a library's factors."""
        fields = {
            name: v for name, v in self.__dict__.items() if name not in ("_certificate", "_deviations", "_exact_means")
        }
        return {**fields, "proof": None}

    def to_xarray(self) -> xr.Dataset:
        """Return pi and the measures as a data set.

        Over the components of the state, unless these have far more combinations than the chain has
        states: states that are never entered have probability zero. Otherwise over ``state``, with the
        values of the components as coordinates; for a matrix, with the names of its states. A measure with the name of
        a component ``n`` is called ``n (measure)``, and a component ``pi`` is called ``pi (component)``.
        """
        import xarray as xr

        grid, array = self.chain.grid(), self.pi
        coords: dict[str, Any] = self.chain.coordinates() if grid is None else grid[0]
        names = names_beside(coords, {"pi"}, COMPONENT)
        coords = {names[name]: values for name, values in coords.items()}
        if grid is not None:
            array = np.zeros([len(values) for values in coords.values()])
            array[grid[1]] = self.pi
        pi = xr.DataArray(array, dims=["state"] if grid is None else list(coords), coords=coords)
        return self._measures_beside({"pi", *map(str, pi.dims), *map(str, pi.coords)}).assign(pi=pi)

    def plot(self, ax: Any = None) -> Any:
        """Draw the marginal distribution of each state component, and return the matplotlib Axes.

        Returns the matplotlib Axes; ``answer.plot().figure.savefig("answer.pdf")`` saves the picture.
        """
        return draw_marginals(self.chain, self.pi, ax)

    def plot_convergence(self, ax: Any = None) -> Any:
        """Draw the residual over the iterations, and the tolerance; return the matplotlib Axes.

        Raises
        ------
        ValueError
            For a method that does not iterate.
        """
        if not self.history:
            raise ValueError(f"{self.method!r} reported no residuals: it does not iterate")
        return draw_convergence(self.history, self.method, ax)

    @cached_property
    def _measures(self) -> dict[str, Measure]:
        """Long-run value of each label and reward by name, with dimensions and unit."""
        model = self.chain.model
        return {} if model is None else measures_of(model, self.pi, self.chain.state_blocks())

    def _about(self) -> dict[str, object]:
        """Return the rows of the summary that describe the chain: states, transitions, classes."""
        chain = self.chain
        return {
            "chain": chain.how if chain.model is None else short_text(chain.model),
            "states": f"{chain.size}, {len(chain.transient_states)} of them transient",
            "transitions": chain.transitions,
            "recurrent classes": len(chain.recurrent_classes),
            **self._period(),
            **self._advice_on_measures(),
        }

    def _period(self) -> dict[str, str]:
        """Return the summary row on the period of a chain in discrete time; empty if the chain is aperiodic."""
        period = self.chain.periods[self._class] if isinstance(self.chain, InSteps) else 1
        if period == 1:
            return {}
        return {"period": f"{period} steps: pi are means, the distribution after n steps does not converge"}

    def _advice_on_measures(self) -> dict[str, str]:
        """Return the summary row on how to define measures; empty if the model has some."""
        if not has_no_measures(self.chain.model):
            return {}
        return {"measures": NO_MEASURES}

    def _proof(self) -> dict[str, object]:
        """Return the rows of the summary on method, error bounds, rounding and iterations."""
        rounding = 2.0 * (len(self._recurrent) - 1) * U
        return {
            "method": repr(self.method),
            "reason": self.reason,
            **super()._proof(),
            "error bound (TV)": self._format_bound(self.error_bound),
            "entry error": self._format_bound(self.entry_error, self._reason_without_entry_error),
            "rounding of the rates": f"{rounding:.1e} of every entry, not in the bound",
            "smallest entry": f"{self.smallest:.1e}",
            "mass defect": f"{self.mass_defect:.1e}",
            "iterations": self.iterations,
            **self._table_of_levels(),
        }

    @property
    def _reason_without_entry_error(self) -> str:
        """Text on why there is no bound on the relative error of entries."""
        from markov.registries import METHODS

        names = [type(entry.method).__name__ for entry in METHODS if entry.bounds_entries]
        if type(self.method).__name__ in names:
            return ": a rate or a probability may have been lost to underflow"
        return f": only {' and '.join(f'{name}()' for name in names)} have one"

    def _table_of_levels(self) -> dict[str, str]:
        """Return the rows of the summary on the levels of a multigrid method; empty without levels."""
        if not self.levels:
            return {}
        transitions = sum(count for _, count in self.levels) / max(self.levels[0][1], 1)
        rows = {
            f"  level {number}": f"{states:>9,} states {count:>10,} transitions"
            for number, (states, count) in enumerate(self.levels)
        }
        return {"levels": f"{len(self.levels)}, operator complexity {transitions:.2f}", **rows}

    def _format_bound(self, bound: float, unproved: str = "") -> str:
        """Return a bound as text; for an infinite bound whether it was computed, with the text ``unproved``."""
        if bound < math.inf:
            return f"{bound:.1e}"
        return "not computed" if self.status is Status.SOLVED else f"none was proved{unproved}"
