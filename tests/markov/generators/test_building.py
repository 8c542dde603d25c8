"""Matrices of the models that come with markov, without a warning."""

from __future__ import annotations

import warnings

import markov
from markov import stationary


def test_models_of_the_package_give_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for model in (markov.PauseTandem(), markov.Kanban(), markov.Cluster(workstations=3)):
            stationary(model)
