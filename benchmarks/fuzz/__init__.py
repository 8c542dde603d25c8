"""Fuzz of all public functions and classes: hostile values, and the same value in other containers.

``python -m benchmarks.fuzz --calls 20000 --seed 1`` calls every public function with one parameter
replaced by a value from `benchmarks.fuzz.values`, and judges what comes back.
"""

from __future__ import annotations
