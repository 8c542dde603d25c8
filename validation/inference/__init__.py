"""Unstated parameters of three papers, inferred from the numbers that the papers print.

`designs` has the open parameters and the settings that were run, `emulator` the interpolation between runs,
`likelihoods` the errors and weights, and a module for each paper its evidence and the statements of its claims.
``python -m validation.generate PAPER/unstated-parameters`` repeats the runs.
"""

from __future__ import annotations
