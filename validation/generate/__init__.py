"""How the bundled simulator outputs were made: ns-2 and ns-3 scenarios, a package for each paper.

`programs` runs the simulators, `cases` the cases. A module of a paper has the options of a program and how its output is
read; what is run, with which parameters, and what the columns mean are tables of a TOML file beside it (`case_tables`).

Never needed by users. ``python -m validation.generate`` lists the cases, ``python -m
validation.generate CASE ...`` (re)builds them, continuing where an earlier call stopped.
"""

from __future__ import annotations
