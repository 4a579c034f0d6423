"""`xla_metadata_call`: a call of a program whose operations have attributes for XLA.

The call has them in lowered text. Where the program is written out, its operations are in a scope of the attributes, as those
of a block of `set_xla_metadata` are.
"""
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from numjet.control.call.body_tracing import cached_with, trace_body
from numjet.control.call.call import calling_op, split_call
from numjet.core.op import Op
from numjet.core.trace import aval_of
from numjet.core.traits import NAMED_CALL
from numjet.foundation import tree, xla_metadata
from numjet.foundation.util import wraps


def _hlo(b: Any, *args: Any, scope: str, jaxpr: Any) -> list[Any]:
    """A call of a function beside; the call has the attributes."""
    return b.call("xla_metadata_call", jaxpr, args, xla_metadata.of_scopes([scope], b.metadata))


xla_metadata_call_p: Op = calling_op("xla_metadata_call", ("scope", "jaxpr"), lambda params: params, compiled=True,
                                     scope="{scope}", hlo=_hlo, traits=NAMED_CALL,
                                     partial_eval=lambda *given: split_call(xla_metadata_call_p, *given))


def xla_metadata_call(f: Callable[..., Any] | None = None, **meta: Any) -> Callable[..., Any]:
    """A function whose operations have attributes for XLA, and are one operation of programs; a decorator without `f`.

    Attributes are text, numbers or None; TypeError for others. numjet's own compiler has no use for them.

    >>> import numjet as nj
    >>> called = xla_metadata_call(lambda x: x * 2, inlineable="false")
    >>> called(3.0).tolist(), 'inlineable = "false"' in nj.jit(called).lower(3.0).as_text()
    (6.0, True)
    """
    if f is None:
        return partial(_called, scope=xla_metadata.scope_name(meta))
    return _called(f, scope=xla_metadata.scope_name(meta))


def _called(f: Callable[..., Any], scope: str) -> Callable[..., Any]:
    @wraps(f)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        leaves, in_tree = tree.tree_flatten((args, kwargs))
        body = trace_body(with_kwargs, in_tree, [aval_of(x) for x in leaves], "xla_metadata_call")
        outs = xla_metadata_call_p.bind(*body.consts, *leaves, scope=scope, jaxpr=body.jaxpr)
        return tree.tree_unflatten(body.out_tree, outs)

    def with_kwargs(args: Any, kwargs: Any) -> Any:
        return f(*args, **kwargs)
    return cached_with(f, wrapped)


def scheduling_group(name: str) -> Callable[..., Any]:
    """A decorator: XLA plans the operations of the function together, as a group of this name.

    >>> import numjet as nj
    >>> scheduled = scheduling_group("a:b")(lambda x: x + 1)
    >>> scheduled(2.0).tolist(), 'scheduling_group = "a:b"' in nj.jit(scheduled).lower(2.0).as_text()
    (3.0, True)
    """
    return xla_metadata_call(scheduling_group=name)
