"""First-passage times of a chain into a set of states, and rewards accumulated until then."""

from __future__ import annotations

from markov.passages.driver import passage
from markov.passages.perron import QuasiStationary, quasi_stationary
from markov.passages.results import Passage

__all__ = ["Passage", "QuasiStationary", "passage", "quasi_stationary"]
