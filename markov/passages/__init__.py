"""Times until a chain first enters a set of states, and what is earned until then."""

from __future__ import annotations

from markov.passages.driver import passage
from markov.passages.perron import QuasiStationary, quasi_stationary
from markov.passages.results import Passage

__all__ = ["Passage", "QuasiStationary", "passage", "quasi_stationary"]
