"""Results of pi Q = 0: status, error bound, cost, measures, and a table of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.fork_safety import cached_property
from hopflow.results import Result, Status, names_beside
from markov.models.measures import MEASURE, unknown_measure
from markov.models.rules import scope_of_bound

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    import xarray as xr

    from markov.models.measures import Measure
    from markov.models.rules import ChainModel

__all__ = ["Solved"]


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class Solved(Result):
    """Base class of stationary distributions as results: status, error bound, cost, and the model's measures.

    Attributes
    ----------
    status
        CONVERGED is proved, SOLVED and UNPROVED are not, all others are failures.
    residual
        Unbalanced flow relative to twice the flow; subclasses say over which states.
    seconds
        Wall time of the solution in s, without the loading and compilation of kernels.
    memory
        Bytes of the method's arrays.
    """

    NOT_COMPARED = ("seconds", "memory", "proof")

    status: Status
    residual: float
    seconds: float
    memory: int = 0

    @property
    def _measures(self) -> dict[str, Measure]:
        """Long-run value of each label and reward by name, with dimensions and unit."""
        raise NotImplementedError

    @property
    def _model(self) -> ChainModel | None:
        """The model of the chain; None for a chain from a matrix."""
        chain: Any = self.chain  # type: ignore[attr-defined]  # a field of every subclass
        model: ChainModel | None = chain.model
        return model

    @cached_property
    def measures(self) -> xr.Dataset:
        """The model's measures as a data set, with their units in ``attrs``."""
        import xarray as xr

        queues = [np.size(value) for dims, value, _ in self._measures.values() if dims == ("queue",)]
        coords = {"queue": np.arange(1, queues[0] + 1)} if queues else {}
        names = names_beside(self._measures, coords, MEASURE)
        return xr.Dataset({names[name]: measure for name, measure in self._measures.items()}, coords=coords)

    def _measures_beside(self, taken: Collection[str]) -> xr.Dataset:
        """Return `measures` with other names where these are ``taken``."""
        return self.measures.rename(names_beside(map(str, self.measures.data_vars), taken, MEASURE))

    def __getitem__(self, measure: str) -> Any:
        """Return one measure by name as a float or an array; KeyError for an unknown name."""
        if measure not in self._measures:
            raise unknown_measure(measure, self._measures)
        return self._measures[measure][1]

    @property
    def throughput(self) -> float:
        """The measure ``throughput`` in packets/s; AttributeError if the model has none."""
        if "throughput" not in self._measures:
            raise AttributeError(f"{type(self).__name__}: the chain has no throughput")
        return float(self["throughput"])

    @property
    def advice(self) -> str:
        """Text on a more accurate method if iterations did not reach the tolerance; otherwise empty."""
        return "GTH() is the most accurate method" if self.status is Status.INACCURATE else ""

    def _about(self) -> dict[str, object]:
        """Return the rows of the summary that describe the chain."""
        raise NotImplementedError

    def _proof(self) -> dict[str, object]:
        """Return the rows of the summary on the method, the residual and the error bound."""
        return {"residual": f"{self.residual:.1e}"}

    def summary(self) -> dict[str, object]:
        """Return the rows of a printed summary: status, chain, scalar measures, error bound and cost.

        A measure with the name of another row has a row such as ``time (measure)``.
        """
        before, after = self._own_rows()
        scalars = {name: (value, about) for name, (dims, value, about) in self._measures.items() if not dims}
        names = names_beside(scalars, {*before, *after}, MEASURE)
        measures = {
            names[name]: f"{float(value):.6g} {about.get('units', '')}".removesuffix(" 1").rstrip()
            for name, (value, about) in scalars.items()
        }
        return {**before, **measures, **after}

    def _own_rows(self) -> tuple[dict[str, object], dict[str, object]]:
        """Return the rows of the summary before the measures, and those after them."""
        scalars = {name: value for name, (dims, value, _) in self._measures.items() if not dims}
        before = {"status": f"{self.status}{self.advice and f': {self.advice}'}", **self._about()}
        after = {**self._proof(), **scope_of_bound(self._model, scalars)}
        return before, after | {"memory": f"{self.memory / 1e6:.3g} MB", "time": f"{self.seconds:.3f} s"}

    def folded(self, rows: Mapping[str, object]) -> list[str]:
        """Return the names of those ``rows`` that describe the computation, never of measures."""
        before, after = self._own_rows()
        return super().folded({name: value for name, value in rows.items() if name in before or name in after})
