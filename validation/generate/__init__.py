"""How the bundled simulator outputs were made: ns-2 and ns-3 scenarios and their driver.

Never needed by users. ``python -m validation.generate`` lists the cases, ``python -m
validation.generate CASE ...`` (re)builds them, continuing where an earlier call stopped.
"""

from __future__ import annotations
