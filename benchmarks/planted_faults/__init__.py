"""Planted faults: single changes of rules, proofs, judges and kernels, and whether the quick tests notice them.

``python -m benchmarks.planted_faults --count 100 --seed 1`` copies the tree, changes one operator or number
at a time in the copy, and runs the quick tests of the part. See `benchmarks.planted_faults.__main__`.
"""

from __future__ import annotations
