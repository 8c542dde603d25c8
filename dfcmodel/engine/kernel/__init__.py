"""What is compiled: the step of the fluid, in functions of one idea each over records with names.

Start with `loop.run`, the order of a step. Modules import nothing but each other: the whole package
is copied and compiled (`jit`). Most functions are inlined, as a call passes groups of arrays word by
word (`net` and `order` are 80 words): in takano2006's scenario 1 without DFC a node costs 5.7 ns per flow and
step with all those of drops and of the receiver inlined and 6.7 without. Compilation takes as long.
"""

from __future__ import annotations
