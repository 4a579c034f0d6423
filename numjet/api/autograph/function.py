"""`autograph`: Python control flow on traced values, by rewriting a function.

The idea, and the name, are those of D. Moldovan et al., "AutoGraph: Imperative-style Coding with Graph-based Performance"
(2019).
"""

from __future__ import annotations

import ast
import functools
import inspect
import types
from collections.abc import Callable
from typing import Any, TypeVar

from numjet import _native
from numjet.api.autograph import runtime
from numjet.api.autograph.names import contains
from numjet.api.autograph.rewrite import RUNTIME, rewritten

Fun = TypeVar("Fun", bound=Callable[..., Any])


def autograph(fun: Fun) -> Fun:
    """Makes a function whose `if`, `while`, `for`, `and`, `or` and `not` work on traced values.

    The function is rewritten, so that a condition that is known decides in Python, as ever, and one that is traced becomes a
    `lax.cond`, a loop a `lax.while_loop`. The result can be given to `jit`, `vmap`, `grad` and all other transformations, in
    both modes.

    - `if` and `else`, `while` and `for` with `break`, `continue`, `else` and early `return`, conditional expressions, `and`,
      `or`, `not`, chained comparisons.
    - `for` over `range` of traced bounds, and over the rows of traced arrays, is a loop of the program. Over anything else it
      is one of Python.
    - Variables keep their structures, shapes and types, where a traced condition decides; Python numbers become arrays. A
      variable that only one branch, or only the steps of a loop, assign has no value afterwards.
    - Functions defined within are rewritten, too; those that it calls are not: decorate them.

    What blocks do beside assigning variables (to lists, attributes, prints) happens while they are traced, perhaps more than
    once.

    Args:
      fun: a function or method written in Python, whose source can be read. Not a lambda, generator or coroutine.

    Returns:
      A function with the same arguments.

    Raises:
      TypeError, ValueError: `fun` cannot be rewritten. When it runs: TypeError where branches disagree on a variable,
        UnboundLocalError where a variable may have no value. Messages name the variable and the line.

    >>> import numjet as nj
    >>> @nj.jit
    ... @nj.autograph
    ... def collatz(n):
    ...     steps = 0
    ...     while n != 1:
    ...         if n % 2 == 0:
    ...             n = n // 2
    ...         else:
    ...             n = 3 * n + 1
    ...         steps += 1
    ...     return steps
    >>> int(collatz(27))
    111
    """
    if isinstance(fun, types.MethodType):
        return types.MethodType(autograph(fun.__func__), fun.__self__)  # type: ignore[return-value]
    if isinstance(fun, _native.EagerFunction):  # of numjet.numpy: written for traced values
        return fun
    if not isinstance(fun, types.FunctionType):
        raise TypeError(f"autograph takes a function written in Python, got {fun!r} of type {type(fun).__name__}. Apply it in "
                        "front of jit and other transformations: jit(autograph(f)).")
    if RUNTIME in fun.__code__.co_freevars:  # rewritten before
        return fun
    code = _rewritten_code(fun.__code__, _class_name(fun))
    cells = dict(zip(fun.__code__.co_freevars, fun.__closure__ or (), strict=True))
    cells[RUNTIME] = types.CellType(runtime)
    made = types.FunctionType(code, fun.__globals__, fun.__name__, fun.__defaults__, tuple(cells[n] for n in code.co_freevars))
    made.__kwdefaults__ = fun.__kwdefaults__
    return functools.update_wrapper(made, fun)  # type: ignore[return-value]


def _class_name(fun: types.FunctionType) -> str | None:
    """The class in which a method is defined, whose name its private names have in front."""
    parts = fun.__qualname__.split(".")
    return parts[-2] if len(parts) > 1 and parts[-2] != "<locals>" else None


@functools.lru_cache(maxsize=256)
def _rewritten_code(code: types.CodeType, owner: str | None) -> types.CodeType:
    """The code of the rewritten function; it names the user's file and lines."""
    node = _definition(code)
    if isinstance(node, ast.AsyncFunctionDef) or contains(node.body, ast.Yield, ast.YieldFrom):
        raise ValueError(f"autograph cannot rewrite generators and coroutines, got {code.co_name} at {_where(code)}")
    node.decorator_list, node.returns, node.name = [], None, "ag__function"
    _without_defaults(node.args)
    if owner is not None:
        _Mangle(owner).visit(node)
    made = rewritten(node, f"{code.co_name} at {code.co_filename}")
    names = [RUNTIME, *code.co_freevars]
    factory = ast.FunctionDef("ag__factory", ast.arguments([], [ast.arg(n) for n in names], None, [], [], None, []),
                              [made, ast.Return(ast.Name(node.name, ast.Load()))], [])
    vars(factory).setdefault("type_params", [])  # which functions have since Python 3.12
    module = ast.fix_missing_locations(ast.Module([ast.copy_location(factory, node)], []))
    found: dict[str, Any] = {}
    exec(compile(module, code.co_filename, "exec", dont_inherit=True, flags=code.co_flags & _FUTURES), found)
    function = found["ag__factory"](*names)
    return function.__code__.replace(co_name=code.co_name, co_firstlineno=code.co_firstlineno)


_FUTURES = 0x1000000  # of `from __future__ import annotations`


def _definition(code: types.CodeType) -> Any:
    """The syntax tree of a function, found by its lines."""
    if code.co_name == "<lambda>":
        raise ValueError(f"autograph cannot rewrite a lambda ({_where(code)}): write it with def")
    try:
        lines, _ = inspect.findsource(code)
    except OSError:
        raise ValueError(f"autograph needs the source of {code.co_name}, which cannot be read: {code.co_filename}") from None
    for node in ast.walk(ast.parse("".join(lines))):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == code.co_name:
            first = min([node.lineno, *[d.lineno for d in node.decorator_list]])
            if first == code.co_firstlineno:
                return node
    raise ValueError(f"autograph does not find {code.co_name} at {_where(code)}: has the file changed since it was imported?")


def _where(code: types.CodeType) -> str:
    return f"{code.co_filename}:{code.co_firstlineno}"


def _without_defaults(args: ast.arguments) -> None:
    """Takes annotations and values of defaults out: the function made keeps those of the user's."""
    args.defaults = [ast.Constant(None) for _ in args.defaults]
    args.kw_defaults = [None if d is None else ast.Constant(None) for d in args.kw_defaults]
    for a in [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]:
        if a is not None:
            a.annotation = None


class _Mangle(ast.NodeTransformer):
    """Puts the class's name in front of private names, as Python does within a class."""

    def __init__(self, owner: str):
        self.prefix = "_" + owner.lstrip("_")

    def _mangled(self, name: str) -> str:
        return self.prefix + name if name.startswith("__") and not name.endswith("__") else name

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        node.attr = self._mangled(node.attr)
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        node.id = self._mangled(node.id)
        return node
