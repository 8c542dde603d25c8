"""yang2001: settings that fit the cells of Table 4 with best effort, and the claims on Table 4.

The cells without best effort are predicted by these settings: they check them, and take no part otherwise.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from validation.claims.yang2001 import tables
from validation.inference.designs import PARAMETERS, SEEDS
from validation.inference.emulator import Emulator, fit
from validation.inference.likelihoods import ERRORS, Posterior, evidence_of, held_out, infer
from validation.inference.parameters import points, snapped, values_at
from validation.inference.results import Inference, Weight, marginals
from validation.inference.sampling import tempered
from validation.inference.table_4 import (
    ENVIRONMENTS,
    PAPER,
    REGULATED,
    free,
    printed,
    shortened,
    simulated,
)
from validation.inference.transfer_times import STATEMENTS, Times

DRAWN = 512
"""Settings drawn from the posterior, and from all before."""
COARSE = ERRORS[::3]
"""Errors of the model that are tried while settings are drawn."""
Values = NDArray[np.float64]
Truth = NDArray[np.bool_]


@dataclass(frozen=True)
class Row:
    """The interpolation of a row of the table.

    Attributes
    ----------
    own
        Which cells are of the row, shape (cells,).
    of
        Indices of the parameters that it depends on.
    emulator
        Of these cells.
    """

    own: Truth
    of: list[int]
    emulator: Emulator


@functools.cache
def interpolated(environments: tuple[str, ...] = ENVIRONMENTS) -> tuple[Row, ...]:
    """Return the interpolation between the runs, row by row."""
    runs, values = simulated(environments)
    parameters, names = PARAMETERS[PAPER], printed(environments).names
    known = points(parameters, runs)
    found = []
    for row in dict.fromkeys(name[:2] for name in names):
        own = np.array([name[:2] == row for name in names])
        of = [parameters.index(each) for each in free(*row)]
        found.append(Row(own, of, fit(known[:, of], values[:, own])))
    return tuple(found)


def cells_at(cube: Values, environments: tuple[str, ...] = ENVIRONMENTS) -> Values:
    """Return the logarithms of the mean times at points of the unit cube, shape (points, cells)."""
    at = snapped(PARAMETERS[PAPER], cube)
    cells = np.empty((len(cube), len(printed(environments).names)))
    for row in interpolated(environments):
        cells[:, row.own] = row.emulator.at(at[:, row.of])
    return cells


def shared_noise(environments: tuple[str, ...] = ENVIRONMENTS) -> dict[str, float]:
    """Return the error of the interpolation by group, which the cells of a group are taken to share."""
    known = printed(environments).groups
    error, groups = np.empty(len(known)), np.array(known)
    for row in interpolated(environments):
        error[row.own] = row.emulator.error
    return {g: float(np.sqrt((error[groups == g] ** 2).mean())) for g in dict.fromkeys(known)}


def own_noise(environments: tuple[str, ...] = ENVIRONMENTS) -> Values:
    """Return the noise of each cell by itself: of the table, and of using one ratio."""
    return np.hypot(printed(environments).noise, shortened(environments))


def posterior_of(of: Truth) -> Callable[..., Posterior]:
    """Return a function of points of the unit cube: what some of the cells say about them."""
    table, noise, shared = printed(), own_noise()[of], shared_noise()
    groups = [group for group, used in zip(table.groups, of, strict=True) if used]

    def posterior(cube: Values, errors: Values = ERRORS) -> Posterior:
        return infer((cells_at(cube) - table.times)[:, of], noise, groups, shared, errors)

    return posterior


def drawn(of: Truth) -> tuple[Values, Posterior]:
    """Return points of the unit cube drawn by some of the cells, and their posterior, all of equal weight."""
    posterior = posterior_of(of)
    cube = tempered(lambda u: evidence_of(posterior(u, COARSE)), len(PARAMETERS[PAPER]), DRAWN, SEEDS[PAPER])
    found = posterior(cube)
    return cube, Posterior(found.logs - logsumexp(found.logs, axis=1, keepdims=True), found.errors)


@functools.cache
def inferred() -> Inference:
    """Return what Table 4 says about the settings, and the claims on it."""
    table = printed()
    aside = held_out(len(table.names), SEEDS[PAPER])
    cube, checked = drawn(~aside)
    shared = np.array([shared_noise()[group] for group in table.groups])
    noise = np.hypot(own_noise(), shared)[aside]
    covered = checked.covered((cells_at(cube) - table.times)[:, aside], noise)
    cube, posterior = drawn(np.ones(len(table.names), dtype=bool))
    settings = [values_at(PARAMETERS[PAPER], u) for u in cube]
    runs, cells = simulated()
    return Inference(
        PAPER, len(runs), DRAWN, int((~aside).sum()), int(aside.sum()), covered,
        float(len(np.unique(cube, axis=0))), posterior.model_errors,
        float(np.sqrt(((cells - table.times) ** 2).mean(axis=1)).min()),
        float(np.sqrt((table.noise**2).mean())),
        marginals(PARAMETERS[PAPER], settings, posterior.weights),
        claims(cube), further(cube, posterior),
    )  # fmt: skip


def further(cube: Values, posterior: Posterior) -> tuple[int, int]:
    """Return the number of cells without best effort, and how many agree with what drawn settings predict."""
    table, shared = printed(REGULATED), shared_noise(REGULATED)
    noise = np.hypot(own_noise(REGULATED), [shared[group] for group in table.groups])
    gaps = cells_at(cube, REGULATED) - table.times
    return len(table.names), posterior.covered(gaps, noise)


def claims(cube: Values) -> tuple[Weight, ...]:
    """Return the part of drawn settings in which the statements of each claim hold, and of all settings."""
    before = np.random.default_rng(SEEDS[PAPER]).random(cube.shape)
    own, every = (kept_at(each) for each in (cube, before))
    return tuple(
        Weight(
            id,
            {name: float(kept.mean()) for name, kept in own[id].items()},
            *(float(np.logical_and.reduce(list(of[id].values())).mean()) for of in (own, every)),
        )
        for id in STATEMENTS
    )


def kept_at(cube: Values) -> dict[str, dict[str, Truth]]:
    """Return which settings keep each statement, with the error of the interpolation drawn once for each.

    Cells of a group have one error in common.
    """
    rng = np.random.default_rng(SEEDS[PAPER])
    found: dict[tuple[str, str, str, str], Values] = {}
    for environments in (ENVIRONMENTS, REGULATED):
        groups, cells = np.array(printed(environments).groups), cells_at(cube, environments)
        for group, error in shared_noise(environments).items():
            cells[:, groups == group] += rng.normal(0.0, error, (len(cells), 1))
        found |= times_of(cells, environments)
    times = Times(found, tables.DISCIPLINES)
    return {id: {name: holds(times) for name, holds in each.items()} for id, each in STATEMENTS.items()}


def times_of(cells: Values, environments: tuple[str, ...] = ENVIRONMENTS) -> dict[tuple[str, str, str, str], Values]:
    """Return the mean times of the classes of settings in s, both sources of a mechanism together."""
    found: dict[tuple[str, str, str, str], list[Values]] = {}
    names = printed(environments).names
    for n, (environment, discipline, _, mechanism, kind) in enumerate(names):
        found.setdefault((environment, discipline, mechanism, kind), []).append(np.exp(cells[:, n]))
    return {key: np.mean(each, axis=0) for key, each in found.items()}
