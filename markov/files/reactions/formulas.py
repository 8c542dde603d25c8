"""Formulas of SBML, in MathML, as expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markov.files.syntax import Call, Chain, Expression, Literal, Name, Negation

if TYPE_CHECKING:
    import xml.etree.ElementTree as ET
    from collections.abc import Callable, Mapping

__all__ = ["CLOCK", "Formulas"]

DEEPEST = 60
TIME = "http://www.sbml.org/sbml/symbols/time"
CLOCK = "time of the model"
"""How the time is called in expressions: no name of a file has spaces."""
JOINED = {"plus": "+", "times": "*", "divide": "/", "minus": "-", "and": "&", "or": "|"}
CALLED = {"power": "pow", "floor": "floor", "ceiling": "ceil", "min": "min", "max": "max"}
COMPARED = {"gt": ">", "geq": ">=", "lt": "<", "leq": "<=", "eq": "=", "neq": "!="}


class Formulas:
    """Reader of formulas.

    Parameters
    ----------
    meanings
        What names of species stand for.
    refuse
        Makes the error of a place and a reason.
    timed
        Whether formulas may depend on the time.
    """

    def __init__(
        self,
        meanings: Mapping[str, Expression],
        refuse: Callable[[str, str], Exception],
        *,
        timed: bool = False,
    ) -> None:
        self.meanings, self.refuse, self.timed = meanings, refuse, timed

    def read(
        self, element: ET.Element, where: str, own: Mapping[str, str] | None = None
    ) -> Expression:
        """Return the formula in an element; ``own`` are other names of its local parameters."""
        found = element.find("math")
        if found is None or len(found) != 1:
            raise self.refuse(where, "one formula (math) is expected")
        return self._tree(found[0], where, own or {}, 0)

    def _tree(self, node: ET.Element, where: str, own: Mapping[str, str], deep: int) -> Expression:
        if deep > DEEPEST:
            raise self.refuse(where, f"a formula is nested more than {DEEPEST} deep")
        if node.tag == "ci":
            name = (node.text or "").strip()
            return self.meanings.get(name) or Name(own.get(name, name), 1)
        if node.tag == "cn":
            return self._number(node, where)
        if node.tag == "csymbol" and node.get("definitionURL") == TIME and self.timed:
            return Name(CLOCK, 1)
        if node.tag != "apply" or not len(node):
            raise self.refuse(where, f"{node.tag} is not read")
        operator, parts = node[0].tag, [self._tree(part, where, own, deep + 1) for part in node[1:]]
        if operator in ("minus", "not") and len(parts) == 1:
            return Negation("-" if operator == "minus" else "!", parts[0], 1)
        if operator in COMPARED and len(parts) == 2:
            return Chain(parts[0], ((COMPARED[operator], parts[1]),), 1)
        if operator in JOINED and len(parts) >= 1:
            joined = JOINED[operator]
            rest = tuple((joined, part) for part in parts[1:])
            return Chain(parts[0], rest, 1) if rest else parts[0]
        if operator in CALLED and parts:
            return Call(CALLED[operator], tuple(parts), 1)
        raise self.refuse(where, f"{operator} with {len(parts)} arguments is not read")

    def _number(self, node: ET.Element, where: str) -> Expression:
        parts = [node.text or "", *(part.tail or "" for part in node)]
        try:
            kind = node.get("type", "real")
            if kind == "integer":
                return Literal(int(parts[0]), 1)
            if kind == "e-notation":
                return Literal(float(f"{parts[0].strip()}e{parts[1].strip()}"), 1)
            if kind == "rational":
                top, bottom = Literal(float(parts[0]), 1), Literal(float(parts[1]), 1)
                return Chain(top, (("/", bottom),), 1)
            return Literal(float(parts[0]), 1)
        except (ValueError, IndexError):
            raise self.refuse(where, f"cn {' '.join(parts)!r}: a number is expected") from None
