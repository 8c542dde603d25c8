"""The continuous limits: solutions by lines against exact ones, orders, conservation."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm
from scipy.optimize import brentq

from dfcmodel.theory import DiffusionEquation, Empty, FeedbackEquation, Lines, bare_law, evolve
from dfcmodel.theory.analytic import cosine_series, steady_state
from dfcmodel.theory.equations import drift_coefficients
from tests.surface import invoke


def bump(x):
    return 1 + 0.5 * np.cos(np.pi * x) + np.exp(-40 * (x - 0.3) ** 2)


def by_lines(equation, time: float, cells: int):
    """Centres and fields at a time, by the matrix exponential of the scheme: no error in time."""
    faces = np.linspace(0.0, equation.length, cells + 1)
    x = (faces[1:] + faces[:-1]) / 2
    start = equation.start(x)

    def derivative(flat):
        J = equation.fluxes(0.0, flat.reshape(start.shape), faces)
        return (-np.diff(J, axis=1) / (faces[1] - faces[0])).ravel()

    matrix = np.transpose([derivative(unit) for unit in np.eye(start.size)])
    return x, (expm(matrix * time) @ start.ravel()).reshape(start.shape)


def test_closed_bar_is_the_cosine_series_to_second_order() -> None:
    exact = cosine_series(bump, 0.05)
    errors = []
    for cells in (20, 40, 80):
        x, (n,) = by_lines(DiffusionEquation(bump, 0.05), 0.5, cells)
        assert n.sum() / cells == pytest.approx(bump(x).sum() / cells, rel=1e-12)
        errors.append(np.abs(n - exact(x, 0.5)).max())
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    np.testing.assert_allclose(orders, 2, atol=0.05)


def steady_fluxes(cells: int) -> float:
    """Divergence that the scheme leaves of the exact steady state, kappa, r and both ends as below."""

    def kappa(x):
        return 0.1 * (1 + x)

    def rate(x, t=0.0):
        return 1 + 0.3 * np.sin(3 * x)

    last = (1.2 - rate(1.0)) * 0.1 / kappa(1.0)
    bar = DiffusionEquation(bump, kappa, rate=lambda x, t: 1 + 0.3 * np.sin(3 * x), inflow=1.2, outflow=Empty(0.1))
    faces = np.linspace(0, 1, cells + 1)
    x = (faces[1:] + faces[:-1]) / 2
    n = steady_state(x, kappa, rate, flow=1.2, last=last)
    J = bar.fluxes(0.0, n[None], faces)[0]
    return float(np.abs(J - 1.2)[:-1].max()), float(abs(J[-1] - 1.2))


def test_steady_state_with_non_uniform_coefficient_carries_its_flow_to_second_order() -> None:
    inner, end = np.log2(np.array(steady_fluxes(80)) / steady_fluxes(160))
    assert inner == pytest.approx(2, abs=0.05)
    assert end == pytest.approx(2, abs=0.05)


def test_flows_that_vary_with_time_and_place_to_second_order() -> None:
    """n = 1 + 0.3 cos(2x + 1) exp(-t), from an r that makes it so; kappa and both ends vary."""

    def kappa(x):
        return 0.1 * (1 + x)

    def flow(x, t):
        return 1 + 0.15 * np.sin(2 * x + 1) * np.exp(-t)

    def density(x, t):
        return 1 + 0.3 * np.cos(2 * x + 1) * np.exp(-t)

    bar = DiffusionEquation(
        lambda x: 1 + 0.3 * np.cos(2 * x + 1),
        kappa,
        rate=lambda x, t: (flow(x, t) - 0.6 * kappa(x) * np.sin(2 * x + 1) * np.exp(-t)) / 1.2,
        intensity=1.2,
        inflow=lambda t: flow(0.0, t),
        outflow=lambda t: flow(1.0, t),
    )
    errors = []
    for cells in (40, 80):
        faces = np.linspace(0.0, 1.0, cells + 1)
        x = (faces[1:] + faces[:-1]) / 2

        def derivative(t, n, cells=cells, faces=faces):
            return -np.diff(bar.fluxes(t, n[None], faces)[0]) * cells

        tight = {"method": "LSODA", "rtol": 1e-10, "atol": 1e-12}
        n = solve_ivp(derivative, (0.0, 0.5), density(x, 0.0), **tight).y[:, -1]
        errors.append(np.abs(n - density(x, 0.5)).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2, abs=0.05)


def slabs(ring: bool):
    """The slowest mode of a bar of two halves, kappa 0.2 and 0.05, and how fast it falls.

    Closed at 0 and 2, or a ring; n and kappa n_x go through x = 1. A root of tan's by bisection.
    """
    kappas = 0.2, 0.05
    reach = 0.5 if ring else 1.0  # from where the gradient is zero to where the halves meet

    def gap(a):  # of the right half, twice that of the left one
        return np.sqrt(kappas[0]) * np.tan(a * reach / 2) + np.sqrt(kappas[1]) * np.tan(a * reach)

    right = brentq(gap, (np.pi / 2 + 1e-9) / reach, (np.pi - 1e-9) / reach, xtol=1e-14)
    left = right / 2
    part = np.cos(left * reach) / np.cos(right * reach)

    def mode(x):
        x = np.asarray(x)
        centres = (0.5, 1.5) if ring else (0.0, 2.0)
        one, other = np.cos(left * (x - centres[0])), part * np.cos(right * (x - centres[1]))
        return np.where(x <= 1, one, other)

    return mode, kappas[1] * right**2


def test_coefficients_that_jump_to_second_order() -> None:
    """As between links of unequal delays: a closed bar of two halves."""
    mode, fall = slabs(ring=False)
    bar = DiffusionEquation(mode, lambda x: np.where(x < 1, 0.2, 0.05), length=2.0)
    errors = []
    for cells in (80, 160):
        x, (n,) = by_lines(bar, 1.0, cells)
        errors.append(np.abs(n - np.exp(-fall) * mode(x)).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2, abs=0.05)


def test_law_with_unequal_delays_is_the_equation_to_second_order() -> None:
    """Links of d and 4 d on a ring, r = 0, D_i = D / d_i, a clock per delay; d ~ h^2.

    Node i is at x = i h; the links of [0, 1] have kappa = 0.2, those of [1, 2] a quarter of it.
    """
    D, end = 0.1, 0.5
    mode, fall = slabs(ring=True)
    errors = []
    for half in (16, 32, 64):
        h = 1 / half
        x = h * np.arange(2 * half)
        delays = np.where(x < 1, 1, 4)  # in steps of D h^2 / 0.2
        n, told = h * (2 + mode(x)), h * (2 + mode(np.roll(x, -1)))
        sends = comes = D / delays * (n - told)
        for k in range(round(end * 0.2 / (D * h * h))):
            ticks = k % delays == 0
            comes = np.where(ticks, sends, comes)
            sends = np.where(ticks, D / delays * (n - told), sends)
            told = np.where(ticks, np.roll(n, -1), told)
            n = n + np.roll(comes, 1) - sends
        errors.append(np.abs(n / h - 2 - np.exp(-fall * end) * mode(x)).max())
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    np.testing.assert_allclose(orders, 2, atol=0.05)


def test_an_external_node_feeds_a_bar_as_eq_9_says() -> None:
    """r = 1 and an empty node before the bar: n(0) rises until J(0) = r - kappa n / distance is 0.8.

    The slowest mode falls by exp(-0.4 t); by then only the tolerance of the steps is left.
    """
    bar = DiffusionEquation(lambda x: 0 * x, 0.2, rate=1.0, inflow=Empty(0.05), outflow=lambda t: 0.8 + 0 * t)
    found = evolve(bar, [0.1, 60.0], Lines(20))
    assert found.inflow[-1] == pytest.approx(0.8, abs=1e-7)
    exact = steady_state(found.x, 0.2, 1.0, flow=0.8, last=0.0)
    at_host = (1.0 - 0.8) * 0.05 / 0.2
    expected = exact - steady_state([0.0], 0.2, 1.0, flow=0.8, last=0.0) + at_host
    np.testing.assert_allclose(found.density[-1], expected, atol=1e-6)
    _, (n,) = by_lines(replace(bar, rate=0.0, inflow=Empty(0.05), outflow=0.0), 0.1, 20)
    assert np.abs(n).max() == 0.0  # nothing comes from an empty node that has no rate


def test_feedback_equation_is_the_law_to_second_order_with_w() -> None:
    """A ring under w = 0.1 cos: nodes against the equation's own Fourier solution by lines."""
    D = 0.4
    nodes = 64
    c = drift_coefficients(D)
    theta = 2 * np.pi / nodes
    z = np.exp(1j * theta)
    forced = -(z + 1) / (z**2 + D * z + D)  # n = forced w, the law's own
    x = np.arange(nodes)
    w = 0.1 * np.exp(1j * theta * x)
    n, before = (1 + (forced * w * turn).real for turn in (1, 1 / z))
    sent = D * before + (w / z).real
    law = bare_law(n, D, nodes, base_rate=sent, before=before)[-1]
    limit = (-c.push + 1j * theta * c.push_spread) / (1 + c.speed - 1j * theta * c.spread)
    equation = FeedbackEquation(
        lambda x: 1 + 0.1 * np.real(limit * np.exp(1j * theta * x)),
        D,
        length=float(nodes),
        push=lambda x: 0.1 * np.cos(theta * x),
        periodic=True,
    )
    at, (density, _) = by_lines(equation, float(nodes), 256)
    lines = np.interp(x, at, density, period=nodes)
    # the coefficients leave 6.5e-4 of the push's 0.1; 256 cells a tenth of that
    assert np.abs(law - lines).max() < 1.5 * 0.1 * abs(forced - limit)
    np.testing.assert_allclose(law, 1 + (forced * w).real, atol=1e-12)  # once around


def test_display() -> None:
    x = np.linspace(0.05, 0.95, 10)
    density = np.outer([1.0, 2.0], np.ones(10))
    from dfcmodel.theory.pde import Density

    result = Density(x, np.array([0.0, 1.0]), density, density[:, None], x[:2], x[:2], 7)
    assert result.packets.tolist() == pytest.approx([1.0, 2.0])
    assert result.variance[0] == pytest.approx(0.0825)
    assert "7 steps" in repr(result)
    assert result.to_xarray()["density"].dims == ("time", "x")
    assert result.plot().get_xlabel() == "x"


def test_import_loads_nothing_heavy() -> None:
    """The theory loads SciPy and the rest when it is used."""
    heavy = ("jax", "sympy", "matplotlib", "xarray", "scipy")
    then = "import dfcmodel.theory.analytic, dfcmodel.theory.pde, dfcmodel.theory.stability, dfcmodel.twin.twins"
    code = f"import sys\n{then}\nprint([m for m in {heavy} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


@pytest.mark.slow
def test_command_line(tmp_path) -> None:
    picture = tmp_path / "walk.png"
    args = ["pde", "takano2006/4S", "--periods", "20", "--node", "7", "--plot", str(picture)]
    out = invoke(args)
    assert out.exit_code == 0, out.output
    assert picture.stat().st_size > 5000
    assert "stable up to D = 0.532" in out.output
    first, last = re.search(r"mean +(\S+) at 0 s, (\S+)", out.output).groups()
    assert float(last) - float(first) == pytest.approx(20 * 0.1 / 1.1, abs=1e-3)


RINGS = (
    DiffusionEquation(bump, lambda x: 0.05 * (1 + x), periodic=True),
    FeedbackEquation(bump, 0.4, push=lambda x: 0.1 * np.cos(2 * np.pi * x), periodic=True),
)


@pytest.mark.parametrize("cells", [50, 51])
@pytest.mark.parametrize("ring", RINGS, ids=["one field", "two fields"])
def test_a_ring_is_solved_as_by_the_matrix_exponential(ring, cells: int) -> None:
    """The bands of a folded ring miss no coupling, for even and odd numbers of cells."""
    found = evolve(ring, [0.0, 0.1, 0.3], Lines(cells))
    np.testing.assert_allclose(found.fields[-1], by_lines(ring, 0.3, cells)[1], atol=1e-6)
    np.testing.assert_allclose(found.packets, found.packets[0], rtol=1e-12)


def test_functions_in_single_precision_are_refused() -> None:
    bar = DiffusionEquation(lambda x: np.float32(1) + 0 * x.astype(np.float32), coefficient=0.1)
    with pytest.raises(TypeError, match="float32: must be in double precision"):
        evolve(bar, [0.0, 1.0])


@pytest.mark.parametrize(
    ("changed", "error", "words"),
    [
        ({"initial": lambda x: x / 0.0}, ValueError, "at t = 0 must be finite"),
        ({"coefficient": lambda x: x - 0.5}, ValueError, "coefficient at x = 0.0025: -0.4975"),
        ({"inflow": lambda t: np.inf if t > 0.1 else 0.0}, ArithmeticError, "not finite at t = 0.1"),
        ({"inflow": lambda t: 1 / (0.5 - t) ** 2}, ArithmeticError, "300 steps: more than"),
    ],
)  # fmt: skip
def test_what_is_not_finite_or_negative_stops(changed, error, words) -> None:
    bar = replace(DiffusionEquation(bump, 0.1), **changed)
    with np.errstate(divide="ignore", invalid="ignore"), pytest.raises(error, match=words):
        evolve(bar, [0.0, 1.0], Lines(most_steps=300))


def test_a_time_whose_steps_would_underflow_is_refused() -> None:
    bar = DiffusionEquation(bump, coefficient=0.1)
    with pytest.raises(ValueError, match=re.escape("times = 1e-300: the last must be 0, or at least 1e-150 s")):
        evolve(bar, 1e-300, Lines(cells=20))
    assert evolve(bar, [0.0, 1e-149], Lines(cells=20)).steps > 0
