r"""Formulas as MathML, written when the pages are built: browsers show them without a script and without a network.

A Sphinx extension on latex2mathml; ``html_math_renderer = "mathml"`` in ``conf.py`` selects it. It also converts
``\(...\)`` in the HTML output of cells, such as the catalogue's, which notebooks leave to MathJax.
"""

from __future__ import annotations

import html
import re
from typing import Any
from xml.etree import ElementTree as ET

from latex2mathml.converter import convert

IN_OUTPUT = re.compile(r"\\\((.+?)\\\)", re.DOTALL)
CODE = re.compile(r"(<(?:pre|code|script|style)\b.*?</(?:pre|code|script|style)>)", re.DOTALL)
ARGUMENTS = {
    **dict.fromkeys(("mfrac", "mroot", "msub", "msup", "munder", "mover"), 2),
    **dict.fromkeys(("msubsup", "munderover"), 3),
}
"""How many arguments MathML's elements have (MathML Core, Sect. 3.3 and 3.4)."""


def formula(tex: str, display: str = "inline") -> str:
    r"""Return a formula as a ``<math>`` element.

    Raises
    ------
    ValueError
        If the formula cannot be converted, or not completely: latex2mathml leaves what it does not know as text.

    Examples
    --------
    >>> "<mfrac><mrow><mn>1</mn></mrow><mrow><mi>n</mi></mrow></mfrac>" in formula(r"\frac{1}{n}")
    True
    >>> formula(r"\unheard{n}")
    Traceback (most recent call last):
    ...
    ValueError: '\\unheard{n}' as MathML: \unheard is not known
    """
    try:
        written = convert(tex, display=display)
        elements = list(ET.fromstring(written).iter())
    except Exception as error:  # latex2mathml's have no common class
        raise ValueError(f"{tex!r} as MathML: {type(error).__name__} {error}") from error
    for element in elements:
        tag = element.tag.rpartition("}")[2]
        if "\\" in (element.text or ""):
            raise ValueError(f"{tex!r} as MathML: {element.text} is not known")
        if len(element) != ARGUMENTS.get(tag, len(element)):
            raise ValueError(f"{tex!r} as MathML: <{tag}> lacks an argument")
        if element.get("linebreak"):
            raise ValueError(rf"{tex!r} as MathML: for several lines take \begin{{align*}}")
    return written


def in_output(text: str) -> str:
    r"""Return the HTML of a cell's output with its formulas as MathML, code as it is.

    Examples
    --------
    >>> in_output(r"<td>\(p &lt; 1\)</td>").count("<math"), in_output(r"<code>\(p\)</code>")
    (1, '<code>\\(p\\)</code>')
    """
    parts = CODE.split(text)
    parts[::2] = [IN_OUTPUT.sub(lambda found: formula(html.unescape(found[1])), part) for part in parts[::2]]
    return "".join(parts)


def _write(translator: Any, written: str) -> None:
    from docutils.nodes import SkipNode  # here, so that tests of formulas do not need Sphinx

    translator.body.append(written)
    raise SkipNode


def _inline(translator: Any, node: Any) -> None:
    """Write a formula in a line of text."""
    _write(translator, formula(node.astext()))


def _displayed(translator: Any, node: Any) -> None:
    """Write a formula on a line of its own."""
    if node.get("number"):
        raise ValueError(rf"{node.astext()!r}: write the number as \qquad\text{{(1)}}, not as label")
    start = translator.starttag(node, "div", CLASS="math notranslate nohighlight")
    _write(translator, f"{start}{formula(node.astext().strip(), 'block')}</div>\n")


def _outputs(_app: Any, doctree: Any, _page: str) -> None:
    """Convert the formulas in outputs of cells."""
    for node in doctree.findall(lambda each: each.tagname == "raw" and "html" in each["format"]):
        if r"\(" in node.astext():
            node[:] = [type(node[0])(in_output(node.astext()))]


def setup(app: Any) -> dict[str, bool]:
    """Register the renderer and the hook for outputs."""
    app.add_html_math_renderer("mathml", (_inline, None), (_displayed, None))
    app.connect("doctree-resolved", _outputs)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
