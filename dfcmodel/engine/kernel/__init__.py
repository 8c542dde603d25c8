"""What is compiled: the step of the fluid, in functions of one idea each over records with names.

Start with `loop.run`, the order of a step. Modules import nothing but each other: the whole package
is copied and compiled (`jit`).
"""

from __future__ import annotations
