"""Solution of the continuous limits of the DFC law by the method of lines: method, driver, result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dfcmodel.theory.equations import DiffusionEquation, FeedbackEquation
from dfcmodel.theory.law import law_of
from hopflow.checks import count_of, instance, integer, number, one_number
from hopflow.results import Result, Status, figure

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import ArrayLike, NDArray

    from dfcmodel.network.networks import Scenario

__all__ = ["Density", "Lines", "evolve", "loaded_node"]

MIN_LAST_TIME = 1e-150  # s; the square of a shorter step underflows


class Equation(Protocol):
    """A system of conservation laws that `evolve` solves; a flux reads the two cells beside its face.

    At the ends of the bar it may read the two last cells.
    """

    @property
    def length(self) -> float:
        """Length of the bar in the unit of x; x runs from 0 to it."""

    @property
    def periodic(self) -> bool:
        """Whether the ends of the bar are joined to a ring."""

    def start(self, x: Any) -> Any:
        """Return the fields at t = 0, shape (fields, N)."""

    def fluxes(self, t: Any, fields: Any, faces: Any) -> Any:
        """Return the fluxes of the fields at the faces, shape (fields, N + 1)."""


@dataclass(frozen=True)
class Lines:
    """Method of lines: second-order finite volumes in space, SciPy's LSODA in time.

    LSODA (Petzold 1983) switches between Adams' methods and implicit methods of variable order.

    Parameters
    ----------
    cells
        N, number of finite volumes.
    rtol, atol
        Relative and absolute tolerance of a time step.
    most_steps
        Maximum number of time steps of `evolve`: near a singularity steps become ever smaller.

    Examples
    --------
    >>> from dfcmodel.theory import Lines
    >>> Lines(cells=400)
    Lines(cells=400, rtol=1e-08, atol=1e-10, most_steps=100000)
    """

    cells: int = 200
    rtol: float = 1e-8
    atol: float = 1e-10
    most_steps: int = 100_000

    def __post_init__(self) -> None:
        integer("cells", self.cells, 3, 10**5)
        one_number("rtol", self.rtol, above=0.0, at_most=0.1)
        one_number("atol", self.atol, above=0.0)
        integer("most_steps", self.most_steps, 1, 10**9)


@dataclass(frozen=True, repr=False, eq=False)
class Density(Result):
    """Solution of an equation at times, s: packets per unit of x, (T, N), and flows at the ends, packets/s.

    Attributes
    ----------
    x
        Cell centres, shape (N,).
    time
        Times in s, shape (T,).
    density
        n, packets per unit of x, shape (T, N).
    fields
        All fields of the equation, shape (T, fields, N).
    inflow, outflow
        Flux through the ends, packets/s, shape (T,).
    steps
        Number of time steps.
    """

    x: NDArray[np.float64]
    time: NDArray[np.float64]
    density: NDArray[np.float64]
    fields: NDArray[np.float64]
    inflow: NDArray[np.float64]
    outflow: NDArray[np.float64]
    steps: int

    @property
    def status(self) -> Status:
        """CONVERGED if every number of the density is finite, otherwise NOT_FINITE."""
        return Status.CONVERGED if np.all(np.isfinite(self.density)) else Status.NOT_FINITE

    @property
    def packets(self) -> NDArray[np.float64]:
        """The integral of n over x at each time, shape (T,)."""
        total: NDArray[np.float64] = self.density.sum(axis=1) * (self.x[1] - self.x[0])
        return total

    @property
    def mean(self) -> NDArray[np.float64]:
        """Mean position of the packets at each time, shape (T,)."""
        weights = self.density / self.density.sum(axis=1, keepdims=True)
        mean: NDArray[np.float64] = weights @ self.x
        return mean

    @property
    def variance(self) -> NDArray[np.float64]:
        """Variance of the packets' positions at each time, shape (T,)."""
        weights = self.density / self.density.sum(axis=1, keepdims=True)
        variance: NDArray[np.float64] = weights @ self.x**2 - self.mean**2
        return variance

    def to_xarray(self) -> xr.Dataset:
        """Return density, inflow and outflow over time and x."""
        import xarray as xr

        return xr.Dataset(
            {
                "density": (("time", "x"), self.density),
                "inflow": ("time", self.inflow, {"units": "packets/s"}),
                "outflow": ("time", self.outflow, {"units": "packets/s"}),
            },
            coords={"time": ("time", self.time, {"units": "s"}), "x": self.x},
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw the density at up to six times; return the Axes."""
        if ax is None:
            _, ax = figure()
        for k in np.unique(np.linspace(0, len(self.time) - 1, 6).round().astype(int)):
            ax.plot(self.x, self.density[k], label=f"t = {self.time[k]:.4g} s")
        ax.set(xlabel="x", ylabel="density of packets")
        ax.legend(fontsize=8)
        return ax

    def summary(self) -> dict[str, object]:
        """Return status and texts by name: packets, mean and variance of their positions at the start and the end."""
        rows: dict[str, object] = {"status": self.status}
        for name in ("packets", "mean", "variance"):
            values = getattr(self, name)
            rows[name] = f"{values[0]:.6g} at {self.time[0]:g} s, {values[-1]:.6g} at the end"
        rows["solved"] = f"{count_of(len(self.x), 'cell')}, {self.steps} steps to {self.time[-1]:g} s"
        return rows


def evolve(equation: Equation, times: ArrayLike, method: Lines | None = None) -> Density:
    """Solve an equation from t = 0 by the method of lines; return the density at ``times``.

    Parameters
    ----------
    equation
        `DiffusionEquation` or `FeedbackEquation`.
    times
        Output times in s, >= 0 and increasing, shape (T,).
    method
        Numerical method; None: ``Lines()``.

    Raises
    ------
    ValueError
        For times out of order, times so short that steps underflow, and fields at t = 0 that are not finite.
    TypeError
        For a function of the equation that returns single precision.
    ArithmeticError
        When fluxes are not finite, the number of time steps is too large or they become too small.

    Examples
    --------
    >>> bar = DiffusionEquation(lambda x: 1 + np.cos(np.pi * x), coefficient=0.1)
    >>> solution = evolve(bar, [0.0, 1.0], Lines(cells=50))
    >>> solution.packets.round(6).tolist()
    [1.0, 1.0]
    """
    instance("equation", equation, (DiffusionEquation, FeedbackEquation))
    method = Lines() if method is None else instance("method", method, Lines, "Lines(...), or None")
    ts = np.atleast_1d(number("times", times, at_least=0.0))
    if not ts.size or ts.ndim > 1:
        raise ValueError(f"times has shape {ts.shape}: must be a time, or a list of them")
    if np.any(np.diff(ts) <= 0):
        raise ValueError(f"times = {times!r}: must increase")
    if 0.0 < ts[-1] < MIN_LAST_TIME:
        raise ValueError(f"times = {times!r}: the last must be 0, or at least {MIN_LAST_TIME:g} s")
    faces = np.linspace(0.0, equation.length, method.cells + 1)
    x = (faces[1:] + faces[:-1]) / 2.0
    with np.errstate(over="ignore", invalid="ignore"):  # fluxes that are not finite are an error
        fields, steps = _integrate(equation, equation.start(x), ts, faces, method)
    J = np.array([equation.fluxes(t, at, faces)[0] for t, at in zip(ts, fields, strict=True)])
    return Density(
        x=x,
        time=ts,
        density=fields[:, 0],
        fields=fields,
        inflow=J[:, 0],
        outflow=J[:, -1],
        steps=steps,
    )


def _integrate(
    equation: Equation, start: Any, ts: NDArray[np.float64], faces: Any, method: Lines
) -> tuple[NDArray[np.float64], int]:
    """Return the fields at the times ``ts``, shape (T, fields, N), and the number of time steps.

    Unknowns are ordered by cell, so that the Jacobian is a band; a ring is folded, 0, N - 1, 1, ...,
    so that adjacent cells are at most two positions apart.
    """
    from scipy.integrate import LSODA

    count, cells = start.shape
    order = np.arange(cells)
    if equation.periodic:
        order[0::2], order[1::2] = np.arange((cells + 1) // 2), cells - 1 - np.arange(cells // 2)
    h = faces[1] - faces[0]

    def derivative(t: float, y: NDArray[np.float64]) -> NDArray[np.float64]:
        fields = np.empty((count, cells))
        fields[:, order] = y.reshape(cells, count).T
        rates: NDArray[np.float64] = -np.diff(equation.fluxes(t, fields, faces), axis=1) / h
        if not np.all(np.isfinite(rates)):
            raise ArithmeticError(f"{name}: the fluxes are not finite at t = {t:.6g} s")
        return rates[:, order].T.ravel()

    name = type(equation).__name__
    if not np.all(np.isfinite(start)):
        raise ValueError(f"{name}: the fields at t = 0 must be finite, initial gives nan or inf")
    band = count * (3 if equation.periodic else 2) - 1
    last = float(ts[-1])
    solution = np.empty((len(ts), count, cells))
    solution[ts == 0.0] = start
    solver = LSODA(
        derivative,
        0.0,
        start[:, order].T.ravel(),
        last,
        rtol=method.rtol,
        atol=method.atol,
        lband=band,
        uband=band,
    )
    steps, done = 0, int(np.searchsorted(ts, 0.0, side="right"))
    while solver.t < last:
        message = solver.step()
        if message or steps == method.most_steps:
            raise ArithmeticError(
                f"{name}: at t = {solver.t:.6g} s of {last:.6g} s, after {steps} steps: "
                f"{message or 'more than most_steps'}"
            )
        steps += 1
        until = int(np.searchsorted(ts, solver.t, side="right"))
        if until > done:
            at = solver.dense_output()(ts[done:until])
            solution[done:until, :, order] = at.reshape(cells, count, -1).T
            done = until
    return solution, steps


def loaded_node(
    scenario: Scenario,
    packets: float,
    times: ArrayLike,
    *,
    node: float | None = None,
    feedback: bool = True,
    method: Lines | None = None,
) -> Density:
    """Return the density over time of packets that start in one node of the first flow's path.

    The setting of takano2006, Fig. 3: no other traffic, and no outflow if r is prescribed. The load
    is a normal distribution with a standard deviation of one node.

    Parameters
    ----------
    scenario
        A scenario with diffusion-type flow control; link delays must be equal if r is fed back.
    packets
        Packets in the loaded node.
    times
        Output times in s, as for `evolve`.
    node
        Number of the node along the path, from 1; None is the middle.
    feedback
        True: r is fed back by eq. (5), `FeedbackEquation`. False: r = 0, `DiffusionEquation`.
    method
        None is ``Lines`` with four cells per link.
    """
    law = law_of(scenario)
    amount = one_number("packets", packets, above=0.0)
    middle = (law.hops + 1) / 2 if node is None else node
    centre = one_number("node", middle, at_least=1.0, at_most=float(law.hops)) - 0.5

    def start(x: Any) -> Any:
        return amount * np.exp(-((x - centre) ** 2) / 2.0) / np.sqrt(2.0 * np.pi)

    equation: Equation
    if feedback:
        length = float(law.hops)
        equation = FeedbackEquation(start, law.diffusion, delay=law.delay, length=length)
    else:
        equation = DiffusionEquation.of(scenario, start)
    return evolve(equation, times, method or Lines(cells=4 * law.hops))
