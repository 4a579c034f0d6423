"""Simplification rules of operations that hold programs: inlining of calls, choice of known branches, inner programs.

The rules are extensions of the records, called by transforms.simplify; those of loops are in `loops`.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import compress

from numjet.control.branches.cond_op import clamped, cond_p
from numjet.control.call.call import jit_p
from numjet.control.call.composite import composite_p
from numjet.control.custom.checkpoint import checkpoint_p
from numjet.control.custom.custom_jvp import custom_jvp_call_p
from numjet.control.custom.custom_vjp_call import custom_vjp_call_p
from numjet.control.loops.scan_op import scan_p
from numjet.control.loops.while_op import while_p
from numjet.core.ir import Atom, ClosedJaxpr, JaxprEqn, Literal
from numjet.core.op import extend
from numjet.core.walk import use_counts
from numjet.foundation import lazy_import
from numjet.transforms.simplify import Rewritten, Simplify

loops = lazy_import.Module("numjet.control.simplify.loops")


def _cond(eqn: JaxprEqn, simplify: Simplify) -> Rewritten:
    """Drops the operands that no branch reads."""
    branches = [simplify(b) for b in eqn.params["branches"]]
    counts = [use_counts(b.jaxpr) for b in branches]
    read = [any(v in c for v, c in zip(inputs, counts, strict=True))
            for inputs in zip(*(b.jaxpr.invars for b in branches), strict=True)]
    thin = tuple(ClosedJaxpr(b.jaxpr.replace(invars=list(compress(b.jaxpr.invars, read))), b.consts) for b in branches)
    made = eqn.replace(params={**eqn.params, "branches": thin}, invars=[eqn.invars[0], *compress(eqn.invars[1:], read)])
    return Rewritten(made, eqn.outvars)


def _known_branch(eqn: JaxprEqn) -> tuple[ClosedJaxpr, list[Atom]] | None:
    """The branch chosen by a known index."""
    index, *operands = eqn.invars
    branches = eqn.params["branches"]
    return (branches[clamped(index.val, len(branches))], operands) if isinstance(index, Literal) else None


def _checkpoint(eqn: JaxprEqn, simplify: Simplify) -> Rewritten:
    """Keeps the call: a deliberate recomputation must not be merged with the first computation."""
    return Rewritten(eqn.replace(params={**eqn.params, "jaxpr": simplify(eqn.params["jaxpr"])}), eqn.outvars)


def _called(name: str) -> Callable[[JaxprEqn], tuple[ClosedJaxpr, list[Atom]]]:
    return lambda eqn: (eqn.params[name], eqn.invars)


extend(jit_p, "inline", _called("jaxpr"))
extend(composite_p, "inline", _called("jaxpr"))
extend(custom_jvp_call_p, "inline", _called("call_jaxpr"))
extend(custom_vjp_call_p, "inline", _called("call_jaxpr"))
extend(checkpoint_p, "inline", lambda eqn: None if eqn.params["prevent_cse"] else (eqn.params["jaxpr"], eqn.invars))
extend(checkpoint_p, "simplify", _checkpoint)
extend(cond_p, "inline", _known_branch)
extend(cond_p, "simplify", _cond)
extend(scan_p, "simplify", lambda eqn, simplify: loops.simplify_scan(eqn, simplify))
extend(while_p, "simplify", lambda eqn, simplify: loops.simplify_while(eqn, simplify))
