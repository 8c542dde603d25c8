"""Insertion of snippets and traversals into the loops of a template."""

from __future__ import annotations

import ast
import copy
import inspect
import textwrap
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from hopflow.kernels.module import Module
from hopflow.kernels.source import locals_of, parse, refuse, syntax_tree

__all__ = ["Fields", "Splice"]


class Splice(ast.NodeTransformer):
    """Insert snippets and traversals into a template.

    A traversal is a generator among the globals of a template, over which the template loops. It is a template itself:
    its loops, snippets and helpers become part of the loop.
    """

    def __init__(self, module: Module, snippets: Mapping[str, str]) -> None:
        self.module, self.snippets = module, snippets
        self.parts: list[Any] = []  # the template, and the traversal within it, that are being visited
        self.outer_names: set[str] = set()  # names of the templates around a traversal

    def splice(self, part: Callable[..., Any]) -> ast.FunctionDef:
        """Return the syntax tree of a template with snippets and traversals inserted."""
        tree = parse(part)
        self.parts.append(inspect.unwrap(part))
        self.outer_names, enclosing = self.outer_names | locals_of(tree), self.outer_names
        function: ast.FunctionDef = self.visit(tree)
        self.outer_names = enclosing
        self.parts.pop()
        return function

    def visit_For(self, node: ast.For) -> Any:
        """Replace a loop over a traversal by the source of the traversal."""
        call = node.iter
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
            name = call.func.id
            if inspect.isgeneratorfunction(self.parts[-1].__globals__.get(name)):
                return self._inline_traversal(node, call)
        return self.generic_visit(node)

    def _inline_traversal(self, loop: ast.For, call: ast.Call) -> list[ast.stmt]:
        """Return the loops of a traversal with the body of a template's loop inside."""
        traversal: Any = self.module.look_up(self.parts[-1], ast.unparse(call.func))
        definition = parse(traversal)
        names = locals_of(definition)
        parameters = [argument.arg for argument in definition.args.args]
        if len(parameters) != len(call.args) or not all(isinstance(a, ast.Name) for a in call.args):
            raise refuse(call, f"a traversal takes {len(parameters)} variables")
        if any(map(_leaves, loop.body)):
            raise refuse(loop, "the body of a traversal may not end it, or go on to the next turn")
        tree = self.splice(traversal)
        used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        called = {node.id for node in ast.walk(definition) if isinstance(node, ast.Name)}
        tree = self.module.rewrite(tree, traversal, None, self.outer_names | (used - called))
        new_names = {name: f"{traversal.__name__}_{name}" for name in names}
        new_names |= {p: ast.unparse(a) for p, a in zip(parameters, call.args, strict=True)}
        body = [self.visit(statement) for statement in loop.body]
        replacement = _Yield(loop.target, body, new_names)
        return _flatten(replacement.visit(statement) for statement in tree.body)

    def visit_Expr(self, node: ast.Expr) -> Any:
        """Replace a call of a snippet's name by the snippet."""
        call = node.value
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in self.snippets:
            return syntax_tree(textwrap.dedent(self.snippets[call.func.id])).body
        return node


class Fields(ast.NodeTransformer):
    """Replace fields of NamedTuple parameters by local variables, which speeds up compilation.

    Only parameters that the template never assigns to are treated.
    """

    def __init__(self, tree: ast.FunctionDef) -> None:
        names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
        assigned = {name.id for name in names if isinstance(name.ctx, ast.Store)}
        self.parameters = {parameter.arg for parameter in tree.args.args} - assigned
        self.locals_by_name: dict[str, str] = {}

    @classmethod
    def first(cls, tree: ast.FunctionDef) -> ast.FunctionDef:
        """Insert assignments ``local = tuple.field`` at the start of a function."""
        fields = cls(tree)
        body = [fields.visit(statement) for statement in tree.body]
        text = "\n".join(f"{local} = {field}" for local, field in fields.locals_by_name.items())
        tree.body = [*syntax_tree(text).body, *body]
        return tree

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """Replace a field by its local variable, except attributes of arrays such as ``shape``."""
        owner = node.value
        if not isinstance(owner, ast.Name) or owner.id not in self.parameters:
            return self.generic_visit(node)
        if hasattr(np.ndarray, node.attr):
            return node
        local = f"{owner.id}__{node.attr}"
        self.locals_by_name[local] = f"{owner.id}.{node.attr}"
        return ast.copy_location(ast.Name(local, node.ctx), node)


class _Yield(ast.NodeTransformer):
    """Replace each yield by the loop's body; rename the traversal's variables."""

    def __init__(self, target: ast.expr, body: list[Any], new_names: dict[str, str]) -> None:
        self.target, self.body, self.new_names = target, _flatten(body), new_names

    def visit_Name(self, node: ast.Name) -> ast.Name:
        node.id = self.new_names.get(node.id, node.id)
        return node

    def visit_Return(self, node: ast.Return) -> ast.AST:
        raise refuse(node, "a traversal may not return early")

    def visit_Expr(self, node: ast.Expr) -> Any:
        if not isinstance(node.value, ast.Yield):
            return self.generic_visit(node)
        value = node.value.value
        names = self.target.elts if isinstance(self.target, ast.Tuple) else [self.target]
        if not isinstance(value, ast.Tuple) or len(value.elts) != len(names):
            raise refuse(node, "a traversal yields a value for each variable of the loop")
        assignments: list[ast.stmt] = [
            ast.copy_location(ast.Assign([copy.deepcopy(name)], self.visit(item)), node)
            for name, item in zip(names, value.elts, strict=True)
        ]
        for statement in assignments:
            statement.file = getattr(node, "file", "?")  # type: ignore[attr-defined]
        return [*assignments, *copy.deepcopy(self.body)]

    def visit_Yield(self, node: ast.Yield) -> ast.AST:
        raise refuse(node, "yield must stand alone: yield a, b")


def _leaves(node: ast.AST) -> bool:
    """Return whether a statement contains ``continue`` or ``break`` of the enclosing loop."""
    if isinstance(node, ast.Break | ast.Continue):
        return True
    if isinstance(node, ast.For | ast.While):
        return any(map(_leaves, node.orelse))
    return any(map(_leaves, ast.iter_child_nodes(node)))


def _flatten(items: Any) -> list[ast.stmt]:
    flat: list[ast.stmt] = []
    for item in items:
        flat.extend(item) if isinstance(item, list) else flat.append(item)
    return flat
