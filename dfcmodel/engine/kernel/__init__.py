"""What is compiled: the step of the fluid, in functions of one idea each over records with names.

Start with `loop.run`, the order of a step. Modules import nothing but each other: the whole package
is copied and compiled (`jit`). Functions of the path of every step are inlined, as a call passes groups of arrays
word by word (`net` and `order` are 80 words): in takano2006's scenario 1 without DFC a node costs 1.7 ns per flow and
step and 6.5 where no function is inlined by force, in a dumbbell of 32 flows 6.8 and 26.
"""

from __future__ import annotations
