"""Profiles of headroom with constant numbers in Jinja templates, such as ``buffers.json.j2``.

Nothing is evaluated. A variable is a constant if a single statement sets it, to a number or a string, before its use
and outside of branches and loops, and no other statement binds its name. Profiles within branches and loops, profiles
with statements within them, and computed numbers are skipped and reported by name. Included and imported files are
not read.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable

from dfcmodel.lossless.audits.profiles import (
    PROFILE_FIELDS,
    DraftRow,
    TableContent,
    bare_name,
    check_fields,
    numbers_of,
    optional_number,
    pool_name,
    port_from_name,
)
from hopflow.checks import format_value

__all__ = ["read_template"]

CLOSING = {"{#": "#}", "{%": "%}", "{{": "}}"}
STATEMENT, EXPRESSION = "\x00", "\x01"
"""Marks in the plain text of a template: instead of a statement, and on both sides of an expression."""
BRANCHES = ("if", "for")
SCOPES = ("macro", "block", "call", "filter", "with")
"""Statements that end the scope of the variables set within them."""
BINDING = ("for", *SCOPES, "import", "from")
OTHER_FILES = ("include", "import", "from", "extends")
"""Statements besides ``set`` that may bind names."""
OPENING = re.compile(r"\{[#%{]")
OBJECT = re.compile(r'"([^"{}]*)"\s*:\s*\{([^{}]*)\}')
KEY = re.compile(
    rf"""(pg_lossless_(?:[^\s"'{{}}:,\[\]|{EXPRESSION}]|{EXPRESSION}[^{EXPRESSION}]*{EXPRESSION})*)(["']?\s*:\s*(\S?))?""",
    re.IGNORECASE,
)
"""Name of a lossless profile in any notation; if it is a key, the rest with the first character of its value. A name
that is no key matches too: otherwise the search begins again within it, for each ``pg_lossless_`` of a long one."""
PROFILE = re.compile(r"(pg_lossless_[\w.+-]+_profile)|pg_lossless_[\w.+-]*", re.ASCII | re.IGNORECASE)
"""Name of a lossless profile, or, without a group, what begins like one: it matches for the same reason."""
LOSSLESS = re.compile("pg_lossless_", re.IGNORECASE)
NO_LOSSLESS = "no profile of a lossless class: SONiC takes these from pg_profile_lookup.ini"
FIELD = re.compile(r'"([^"]*)"\s*:\s*(?:"([^"]*)"|([^\s",]+))')
LITERAL = re.compile(r"\s*(?:'([^'\\]*)'|\"([^\"\\]*)\"|([0-9]+))\s*")
WORD = re.compile(r"[^\W\d]\w*")


def read_template(text: str) -> TableContent:
    """Return profiles with constant numbers as rows, and pairs of a skipped profile and the reason.

    >>> rows, skipped = read_template('{% set a = 51200 %} "pg_lossless_100G_40m_profile": {"xoff": "{{ a }}"}')
    >>> [(row.rate, row.cable, row.xoff) for row in rows]
    [(100000000000.0, 40.0, 51200)]
    """
    plain = _PlainTemplate(text)
    rows: list[DraftRow] = []
    skipped = plain.skipped
    names: set[str] = set()
    pools: dict[str, int] = {}
    visited: set[int] = set()
    _check_closed(plain)
    for match in OBJECT.finditer(plain.text):
        name, body = _readable(match[1]), match[2]
        is_lossless = LOSSLESS.match(bare_name(name)) is not None
        fields = _fields(name, body) if '"xoff"' in body or is_lossless else {}
        if "type" in fields or not (fields or is_lossless):  # pools have a type
            if "xoff" in fields:  # of the headroom that its classes share
                xoff = plain.value(fields["xoff"], match.start())
                if "{" in xoff or plain.branch_at(match.start()) or STATEMENT in body:
                    skipped.append((name, "the headroom that its classes share depends on statements"))
                elif size := optional_number(name, "xoff", xoff):
                    pool = pool_name(name)
                    if pools.setdefault(pool, size) != size:
                        raise ValueError(f"{name}: xoff = {size}: the pool is also given with {pools[pool]}")
            continue
        visited.add(match.start())
        branch = plain.branch_at(match.start())
        if branch:
            skipped.append((name, f"it is within {branch}"))
        elif STATEMENT in body or EXPRESSION in match[1]:
            skipped.append((name, "its name or its fields depend on statements"))
        elif FIELD.sub("", body).strip(", \t\r\n"):
            remainder = FIELD.sub("", body).strip(", \t\r\n")
            skipped.append((name, f"it is not JSON: {format_value(remainder)} is no field"))
        elif "xoff" not in fields:
            skipped.append((name, f"no xoff among its fields: {', '.join(fields) or 'none'}"))
        elif bare_name(name) in names:
            raise ValueError(f"{name}: the profile is given twice")
        else:
            names.add(bare_name(name))
            check_fields(name, fields, PROFILE_FIELDS)
            values = {key: plain.value(value, match.start()) for key, value in fields.items()}
            if "{" in values["xoff"]:
                skipped.append((name, f"its xoff is computed: {values['xoff']}"))
                continue
            constants = {key: value for key, value in values.items() if "{" not in value}
            rate, cable = port_from_name(name) or (None, None)
            row = DraftRow(name, rate, cable, *numbers_of(name, constants), name)
            rows.append(row._replace(pool=pool_name(constants.get("pool", ""))))
    for match in KEY.finditer(plain.text):
        start = plain.text.rfind('"', 0, match.start())
        if match[2] and start not in visited:
            problem = "its value is no object" if match[3] not in ("{", STATEMENT) else "it is not JSON"
            skipped.append((_readable(match[1]), f'{problem}: must be as in "name": {{"xoff": "44032"}}'))
    listed = {bare_name(name) for name, _ in skipped} | names
    for name in _find_unused_names(plain.text):
        if name not in listed:
            listed.add(name)
            skipped.append((name, "it is neither the key of an object nor a reference"))
    if not names and not any(map(LOSSLESS.match, listed)) and '"BUFFER_PROFILE"' in plain.text:
        skipped.insert(0, ("BUFFER_PROFILE", NO_LOSSLESS))
    return [row._replace(pool_size=pools[row.pool]) if row.pool in pools else row for row in rows], skipped


def _find_unused_names(text: str) -> Iterable[str]:
    """Yield names of lossless profiles that occur in the text outside of expressions and values."""
    for match in PROFILE.finditer(text):
        if match[1] is None:
            continue
        before = text[max(0, match.start() - 100) : match.start()]
        in_expression = text.count(EXPRESSION, 0, match.start()) % 2
        if not in_expression and not re.search(r""":\s*["'\[]*(?:BUFFER_PROFILE(?:_TABLE)?[|:])?$""", before):
            yield match[0]


def _check_closed(plain: _PlainTemplate) -> None:
    """Raise ValueError if an object of the template is incomplete."""
    last = plain.text.rfind("{")
    unequal = plain.text.count("{") - plain.text.count("}")
    if last > plain.text.rfind("}") or (unequal > 0 and not plain.has_branches):
        name = re.findall(r"""["']([^"'{}]*)["']\s*:\s*$""", plain.text[:last])
        owner = f" of {_readable(name[0])}" if name and last > plain.text.rfind("}") else ""
        raise ValueError(f"an object{owner} does not end: the file is cut or lacks a '}}'")


class _PlainTemplate:
    """Text of a template without comments, with marked expressions, and the positions of its statements.

    Attributes
    ----------
    text
        The plain text.
    skipped
        Statements that include, import or extend files, with the reason for skipping them.
    """

    def __init__(self, source: str) -> None:
        self.skipped: list[tuple[str, str]] = []
        self._open: list[tuple[str, str, str, list[str]]] = []
        self._branches: list[tuple[int, str]] = [(0, "")]
        self._bound: Counter[str] = Counter()
        self._constants: dict[str, tuple[float, float, str]] = {}
        parts: list[str] = []
        length = start = 0
        while (match := OPENING.search(source, start)) is not None:
            end = source.find(CLOSING[match[0]], match.end())
            try:
                if end < 0:
                    raise ValueError(f"{match[0]} has no {CLOSING[match[0]]}")
                code = " ".join(source[match.end() : end].strip("+-").split())
                mark = {"{#": "", "{%": STATEMENT, "{{": f"{EXPRESSION}{code}{EXPRESSION}"}[match[0]]
                parts += [source[start : match.start()], mark]
                length += len(parts[-2]) + len(mark)
                if match[0] == "{%":
                    self._read_statement(code, length)
            except ValueError as error:
                line = source.count("\n", 0, match.start()) + 1
                raise ValueError(f"line {line}: {error}") from None
            start = end + 2
        if self._open:
            raise ValueError(f"{format_value(self._open[-1][1])} has no end")
        self.text = "".join((*parts, source[start:]))

    def _read_statement(self, code: str, position: int) -> None:
        """Record branches, scopes and bindings of a statement, which ends at this offset of the text."""
        word, _, arguments = code.partition(" ")
        opened = word.removeprefix("end")
        statement = f"{{% {code} %}}"
        if word == "raw":
            raise ValueError(f"{statement}: is not read")
        if word in OTHER_FILES:
            self.skipped.append((statement, "a file of its own: not read"))
        if word in (*BRANCHES, *SCOPES):
            outer = self._open[-1][2] if self._open else ""
            self._open.append((word, statement, statement if word in BRANCHES else outer, []))
        elif word != opened and opened in (*BRANCHES, *SCOPES):
            if not self._open or self._open[-1][0] != opened:
                raise ValueError(f"{format_value(statement)} ends nothing that is open")
            for name in self._open.pop()[3]:
                begin, _, value = self._constants[name]
                self._constants[name] = begin, position, value
        if opened in BRANCHES:
            self._branches.append((position, self._open[-1][2] if self._open else ""))
        if word == "set":
            name, equals, value = arguments.partition("=")
            names = WORD.findall(name if equals else arguments)
            literal = LITERAL.fullmatch(value)
            if literal is None or len(names) != 1:
                names *= 2  # bound twice: no constant
            elif self._branches[-1][1] == "":
                text = next(group for group in literal.groups() if group is not None)
                self._constants[names[0]] = position, math.inf, text
                if self._open:
                    self._open[-1][3].append(names[0])
            self._bound.update(names)
        elif word in BINDING:
            self._bound.update(WORD.findall(arguments) * 2)

    @property
    def has_branches(self) -> bool:
        """Whether the template has branches or loops."""
        return len(self._branches) > 1

    def branch_at(self, position: int) -> str:
        """Return the statement of the innermost branch or loop at an offset; "" outside of branches."""
        return self._branches[bisect_right(self._branches, (position, "\uffff")) - 1][1]

    def value(self, text: str, position: int) -> str:
        """Return a value as a string, with the constant of a name, and other expressions as in the template."""
        code = text.strip()
        if code.count(EXPRESSION) == 2 and code[0] == code[-1] == EXPRESSION:
            name = code[1:-1].strip()
            begin, end, constant = self._constants.get(name, (math.inf, math.inf, ""))
            if begin <= position < end and self._bound[name] == 1:
                return constant
        return _readable(text)


def _fields(name: str, body: str) -> dict[str, str]:
    """Return an object's fields by name; ValueError for a duplicate field, unless statements choose one."""
    fields: dict[str, str] = {}
    for key, quoted, bare in FIELD.findall(body):
        if key in fields and STATEMENT not in body:
            raise ValueError(f"{name}: {format_value(key)} is given twice")
        fields[key] = quoted or bare
    return fields


def _readable(text: str) -> str:
    """Return a part of the plain text, with each marked expression in {{ }} as in the template."""
    parts = text.split(EXPRESSION)
    return "".join(f"{{{{ {part} }}}}" if n % 2 else part for n, part in enumerate(parts))
