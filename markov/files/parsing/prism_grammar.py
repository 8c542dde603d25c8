"""The constructs of the PRISM language, read or refused: the table of the documentation.

Constructs follow the grammar of PRISM 4.8 (its manual, "The PRISM Language" and "Property Specification"), including
older words that it accepts.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["GRAMMAR", "Construct"]


class Construct(NamedTuple):
    """A construct of the language.

    Attributes
    ----------
    part
        ``"model"`` (a declaration), ``"expression"`` or ``"property"``.
    name
        Description.
    example
        Text that a test reads; declarations stand beside two modules A and B (`tests/markov/files/parsing`).
    refused
        Part of the error message for a refused construct; empty if it is read.
    """

    part: str
    name: str
    example: str
    refused: str = ""


LTL = "a path formula beyond CSL (LTL)"
NOT_MARKOV = "is not of Markov chains"

GRAMMAR = (
    Construct("model", "Constants; `int` where no type is given", "const int k = 2; const double r = k; const bool b = true; const m = 1;"),
    Construct("model", "Constants in the older words `rate` and `prob`", "rate r = 2; prob p = 0.5;"),
    Construct("model", "Formulas", "formula both = x + y;"),
    Construct("model", "Labels", 'label "one" = x = 1;'),
    Construct("model", "Global variables", "global g : [0..2] init 1;"),
    Construct("model", "Variables with a range, truth values, whole numbers without bounds", "module C u : [0..1] init 1; v : bool; w : int init 3; endmodule"),
    Construct("model", "Clocks", "module C z : clock; endmodule", "clocks of timed automata are not read"),
    Construct("model", "Arrays", "module C z : array [0..1] of int; endmodule", "arrays are not read"),
    Construct("model", "Invariants", "module C z : [0..1]; invariant z < 2 endinvariant endmodule", "invariants of timed automata are not read"),
    Construct("model", "Commands, with one update, several, none (`true`)", "module C z : [0..1]; [] z = 0 -> 2 : (z' = 1) + 1 : true; [a] true -> (z' = 0); endmodule"),
    Construct("model", "Intervals of rates or probabilities", "module C z : [0..1]; [] true -> [0.1, 0.2] : (z' = 1); endmodule", "intervals of rates or probabilities are not read"),
    Construct("model", "Copies of modules with other names", "module C = A [x = z, a = c] endmodule"),
    Construct("model", "Rewards of states and of transitions, with or without a name", 'rewards "r" x = 1 : 2; [a] true : 3; [] true : 1; endrewards rewards true : 1; endrewards'),
    Construct("model", "Initial states by a condition", "init x = 0 endinit"),
    Construct("model", "Systems: `||`", "system A || B endsystem"),
    Construct("model", "Systems: `|||`", "system A ||| B endsystem"),
    Construct("model", "Systems: on given actions", "system A |[a]| B endsystem"),
    Construct("model", "Systems: hidden and renamed actions, parentheses", "system (A / {a}) || B {a <- c} endsystem"),
    Construct("model", "Named systems; the one without a name is the model, otherwise the first", 'system "S" || B endsystem system "S" A endsystem'),
    Construct("model", "Systems: `||` and `|||` in a row, `|[a]|` twice, without parentheses", "system A || B ||| C endsystem", "write parentheses"),
    Construct("model", "Observations", "observables x endobservables", "observations of partially observable models are not read"),
    Construct("model", "Observations with names", 'observable "o" = x;', "observations of partially observable models are not read"),
    Construct("model", "Players of games", "player p A endplayer", "players of games are not read"),
    Construct("model", "Other types of models than `ctmc`, `stochastic`, `dtmc` and `probabilistic`", "mdp", "models of type mdp are not read"),
    Construct("expression", "Choices", "x = 0 ? 1 : y = 0 ? 2 : 3"),
    Construct("expression", "Logic", "(x = 0 => y = 0) & !(x = 1 | y = 1) <=> true"),
    Construct("expression", "Comparisons", "x <= 1 & x >= 0 & x < 2 & x > -1 & x = y & x != 2"),
    Construct("expression", "Arithmetic; 1 / 2 is 0.5", "-x + 2 * y - 1 / 2 + 2 ^ 3"),
    Construct("expression", "Functions, listed in [Functions of expressions](#functions-of-expressions)", "pow(2, x) + max(x, y, 1)"),
    Construct("expression", "Functions in the older form", "func(min, x, y)"),
    Construct("expression", "Other functions", "sqrt(x)", "'sqrt' is no function"),
    Construct("property", "Probabilities, with or without a threshold", "P>=0.5 [ F x=1 ]"),
    Construct("property", "`X`, `F`, `G`, `U`, `W`, `R`, with bounds on the time", "P=? [ x=0 U[1,2] y=1 ]"),
    Construct("property", "Long-run probabilities", "S=? [ x=1 ]"),
    Construct("property", "Rewards until a set, in total, until a time, at a time, in the long run", 'R{"r"}=? [ C<=2 ] + R{1}=? [ I=2 ] + R=? [ F x=1 ] + R=? [ S ]'),
    Construct("property", "Filters", "filter(max, P=? [ F x=1 ], y=0)"),
    Construct("property", "Filters in the older form", "P=? [ F x=1 {y=0}{max} ]"),
    Construct("property", "Names of labels, of `init` and `deadlock`, and of other properties", 'P=? [ F "init" ]'),
    Construct("property", "Names of properties", '"p": S=? [ x=1 ]'),
    Construct("property", "Formulas of LTL", "P=? [ G F x=1 ]", LTL),
    Construct("property", "`Pmin`, `Pmax`, `Rmin`, `Rmax`", "Pmax=? [ F x=1 ]", NOT_MARKOV),
    Construct("property", "`A` and `E` of CTL", "E [ F x=1 ]", NOT_MARKOV),
    Construct("property", "Several objectives", "multi(P>0.1 [ F x=1 ])", "several objectives (multi) are not read"),
    Construct("property", "Coalitions of players", "<<p>> P=? [ F x=1 ]", "coalitions of players are not read"),
    Construct("property", "Differences of two rewards", 'R{"r"}{"s"}=? [ F x=1 ]', "two rewards in one operator are not read"),
    Construct("property", "Rewards until a path formula", "R=? [ x=0 U x=1 ]", LTL),
)  # fmt: skip
