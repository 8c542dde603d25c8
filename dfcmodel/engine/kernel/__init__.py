"""The compiled time step of the fluid model, as small functions over records with named fields.

`loop.run` is the entry point and gives the order of a step. The modules import only each other: the whole package
is copied and compiled (`jit`). Functions that run in every step are inlined, since a call passes groups of arrays
word by word (`net` and `order` have 80 words). In takano2006's scenario 1 without DFC a node costs 1.7 ns per flow
and step, and 6.5 ns without forced inlining; in a dumbbell of 32 flows 6.8 and 26 ns.
"""

from __future__ import annotations
