"""Solution of the continuous limits of the DFC law by the method of lines: method, driver, result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dfcmodel.theory.equations import DiffusionEquation, FeedbackEquation
from dfcmodel.theory.law import law_of
from hopflow.checks import number, one_number, whole
from hopflow.results import Result, figure
from hopflow.status import Status

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import ArrayLike, NDArray

    from dfcmodel.network.networks import Scenario

__all__ = ["Density", "Lines", "evolve", "loaded_node"]


class Equation(Protocol):
    """A system of conservation laws that `evolve` solves."""

    @property
    def length(self) -> float:
        """Length of the bar, 0 <= x <= length."""

    def start(self, x: Any) -> Any:
        """Return the fields at t = 0, shape (fields, N)."""

    def fluxes(self, t: Any, fields: Any, faces: Any) -> Any:
        """Return the fluxes of the fields at the faces, shape (fields, N + 1)."""


@dataclass(frozen=True)
class Lines:
    """Method of lines: second-order finite volumes in space, an adaptive Runge-Kutta method in time.

    Parameters
    ----------
    cells
        N, number of finite volumes.
    rtol, atol
        Relative and absolute tolerance of a time step.
    stiff
        Use an implicit solver (Kvaerno's, order 3), for many cells and large coefficients.

    Examples
    --------
    >>> from dfcmodel import Lines
    >>> Lines(cells=400, stiff=True)
    Lines(cells=400, rtol=1e-08, atol=1e-10, stiff=True)
    """

    cells: int = 200
    rtol: float = 1e-8
    atol: float = 1e-10
    stiff: bool = False

    def __post_init__(self) -> None:
        whole("cells", self.cells, 3, 10**5)
        one_number("rtol", self.rtol, above=0.0, at_most=0.1)
        one_number("atol", self.atol, above=0.0)


@dataclass(frozen=True, repr=False, eq=False)
class Density(Result):
    """Solution of an equation at given times.

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
        """CONVERGED when every number is finite."""
        return Status.CONVERGED if np.all(np.isfinite(self.density)) else Status.NOT_FINITE

    @property
    def packets(self) -> NDArray[np.float64]:
        """The integral of n, shape (T,)."""
        total: NDArray[np.float64] = self.density.sum(axis=1) * (self.x[1] - self.x[0])
        return total

    @property
    def mean(self) -> NDArray[np.float64]:
        """Mean position of the packets, shape (T,)."""
        weights = self.density / self.density.sum(axis=1, keepdims=True)
        mean: NDArray[np.float64] = weights @ self.x
        return mean

    @property
    def variance(self) -> NDArray[np.float64]:
        """Variance of the position of the packets, shape (T,)."""
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
        """Draw the density at up to six times."""
        if ax is None:
            _, ax = figure()
        for k in np.unique(np.linspace(0, len(self.time) - 1, 6).round().astype(int)):
            ax.plot(self.x, self.density[k], label=f"t = {self.time[k]:.4g} s")
        ax.set(xlabel="x", ylabel="density of packets")
        ax.legend(fontsize=8)
        return ax

    def summary(self) -> dict[str, object]:
        """Return packets, mean and variance at the start and the end."""
        rows: dict[str, object] = {"status": self.status}
        for name in ("packets", "mean", "variance"):
            values = getattr(self, name)
            rows[name] = f"{values[0]:.6g} at {self.time[0]:g} s, {values[-1]:.6g} at the end"
        rows["solved"] = f"{len(self.x)} cells, {self.steps} steps to {self.time[-1]:g} s"
        return rows


def evolve(equation: Equation, times: ArrayLike, method: Lines | None = None) -> Density:
    """Solve an equation from t = 0 by the method of lines.

    It switches JAX to 64 bits (``jax_enable_x64``) for the process.

    Parameters
    ----------
    equation
        `DiffusionEquation` or `FeedbackEquation`.
    times
        Output times in s, >= 0 and increasing, shape (T,).
    method
        None is ``Lines()``.

    Raises
    ------
    ValueError
        For times out of order.
    ArithmeticError
        When the number of time steps is too large or the steps become too small.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> bar = DiffusionEquation(lambda x: 1 + jnp.cos(jnp.pi * x), coefficient=0.1)
    >>> solution = evolve(bar, [0.0, 1.0], Lines(cells=50))
    >>> solution.packets.round(6).tolist()
    [1.0, 1.0]
    """
    ts = np.atleast_1d(number("times", times, at_least=0.0))
    if np.any(np.diff(ts) <= 0):
        raise ValueError(f"times = {times!r}: must increase")
    import diffrax
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)  # type: ignore[no-untyped-call]
    method = method or Lines()
    faces = np.linspace(0.0, equation.length, method.cells + 1)
    x = (faces[1:] + faces[:-1]) / 2.0
    h = equation.length / method.cells

    def derivative(t: Any, fields: Any, args: Any) -> Any:
        return -jnp.diff(equation.fluxes(t, fields, jnp.asarray(faces)), axis=1) / h

    def solve(start: Any) -> tuple[Any, Any]:
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(derivative),
            diffrax.Kvaerno3() if method.stiff else diffrax.Tsit5(),
            0.0,
            float(ts[-1]),
            None,
            start,
            saveat=diffrax.SaveAt(ts=jnp.asarray(ts)),
            stepsize_controller=diffrax.PIDController(rtol=method.rtol, atol=method.atol),
            adjoint=diffrax.ForwardMode(),  # nothing is differentiated; it compiles fastest
            max_steps=10**7,
            throw=False,
        )
        flux: Any = jax.vmap(lambda t, y: equation.fluxes(t, y, jnp.asarray(faces))[0])
        return solution, flux(solution.ts, solution.ys)

    solution, J = jax.jit(solve)(
        equation.start(jnp.asarray(x))
    )  # as one piece, which compiles fastest
    if solution.result != diffrax.RESULTS.successful:
        raise ArithmeticError(f"{type(equation).__name__}: {solution.result}")
    J = np.asarray(J)
    fields = np.asarray(solution.ys)
    return Density(
        x=x,
        time=ts,
        density=fields[:, 0],
        fields=fields,
        inflow=J[:, 0],
        outflow=J[:, -1],
        steps=int(solution.stats["num_steps"]),
    )


def loaded_node(
    scenario: Scenario,
    packets: float,
    times: ArrayLike,
    *,
    node: float | None = None,
    feedback: bool = True,
    method: Lines | None = None,
) -> Density:
    """Return how the packets of one loaded node spread along the path of the first flow.

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
    import jax.numpy as jnp

    law = law_of(scenario)
    amount = one_number("packets", packets, above=0.0)
    middle = (law.hops + 1) / 2 if node is None else node
    centre = one_number("node", middle, at_least=1.0, at_most=float(law.hops)) - 0.5

    def start(x: Any) -> Any:
        return amount * jnp.exp(-((x - centre) ** 2) / 2.0) / jnp.sqrt(2.0 * jnp.pi)

    equation: Equation
    if feedback:
        length = float(law.hops)
        equation = FeedbackEquation(start, law.diffusion, delay=law.delay, length=length)
    else:
        equation = DiffusionEquation.of(scenario, start)
    return evolve(equation, times, method or Lines(cells=4 * law.hops))
