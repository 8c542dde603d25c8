"""First-passage times of a chain into a set of states, and rewards accumulated until then."""

from __future__ import annotations

from markov.time.passages.driver import passage
from markov.time.passages.infinite_results import InfinitePassage
from markov.time.passages.perron import QuasiStationary, quasi_stationary
from markov.time.passages.results import Passage

__all__ = ["InfinitePassage", "Passage", "QuasiStationary", "passage", "quasi_stationary"]
