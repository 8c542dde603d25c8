"""How the bundled simulator outputs were made: ns-2 and ns-3 scenarios, a package for each paper.

`programs` runs the simulators, `cases` the cases; a module of a paper has the options of a program,
how its output is read, and the table ``CASES``.

Never needed by users. ``python -m validation.generate`` lists the cases, ``python -m
validation.generate CASE ...`` (re)builds them, continuing where an earlier call stopped.
"""

from __future__ import annotations
