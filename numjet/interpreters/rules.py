"""Tables of rules: mappings from primitives to rules in JAX's form, which are views of the slots of primitives.

Putting a rule into a table fills a slot of the primitive with an adapter, which brings operands and results to the form that
slots have. A rule for one of numjet's own operations takes the place of its own until it is deleted.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping, Sequence
from typing import Any

from numjet.api.diagnostics import clear_caches
from numjet.core import hooks
from numjet.core.op import Missing, Op, all_ops
from numjet.core.primitive import Primitive

Rule = Callable[..., Any]


class UsersRule:
    """A slot filled by a user: `adapter(rule, primitive, ...)` called with the arguments of the slot."""

    __slots__ = ("adapter", "rule", "primitive")

    def __init__(self, adapter: Rule, rule: Rule, primitive: Primitive):
        self.adapter, self.rule, self.primitive = adapter, rule, primitive

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.adapter(self.rule, self.primitive, *args, **kwargs)


class OwnRule:
    """The rule of one of numjet's own operations, in JAX's form: `apply(op, rule, ...)`, with what its slot held when it was
    read. So a user's rule that takes its place may call it."""

    __slots__ = ("apply", "op", "slot", "rule")

    def __init__(self, apply: Rule, op: Op, slot: str):
        self.apply, self.op, self.slot, self.rule = apply, op, slot, getattr(op, slot)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.apply(self.op, self.rule, *args, **kwargs)


def checked_primitive(primitive: Any, what: str) -> Primitive:
    """The primitive; TypeError for anything else."""
    if not isinstance(primitive, Primitive):
        raise TypeError(f"{what} is for primitives (numjet.extend.core.Primitive), got {primitive!r} of type "
                        f"{type(primitive).__name__}")
    return primitive


def users_primitive(primitive: Any, what: str) -> Primitive:
    """The primitive, if a user defined it; TypeError for anything else."""
    if isinstance(primitive, Op):
        raise TypeError(f"{what} is for primitives that users define: '{primitive.name}' is numjet's own operation, which the "
                        "compiler knows. Lower a primitive of your own.")
    return checked_primitive(primitive, what)


def values(args: Sequence[Any]) -> tuple[Any, ...]:
    """Operands for a user's rule: literals of programs become arrays."""
    return tuple(map(hooks.user_value, args))


class RuleTable(MutableMapping[Any, Rule]):
    """A table of rules that fill one slot. apply(op, rule, ...): what a rule of one of numjet's own operations gives, in JAX's
    form."""

    def __init__(self, name: str, slot: str, adapter: Rule, apply: Rule | None = None, **flags: Any):
        self._name, self._slot, self._adapter, self._apply, self._flags = name, slot, adapter, apply, flags
        self._replaced: dict[tuple[Op, str], Any] = {}  # what users' rules stand in place of

    def __setitem__(self, primitive: Any, rule: Rule | None) -> None:
        """Fills the slot. None: the primitive has no rule. The rule of an operation of numjet's own is put back."""
        found = checked_primitive(primitive, self._name)
        if type(rule) is OwnRule and rule.op is found and rule.slot == self._slot:
            if self._holds(found):
                del self[found]
            return
        if rule is None and not isinstance(found, Op):
            found.__dict__.pop(self._slot, None)
            return
        if not callable(rule):
            raise TypeError(f"{self._name}[{primitive}] must be a function, got {rule!r}")
        for slot, value in {self._slot: UsersRule(self._adapter, rule, found), **self._flags}.items():
            if isinstance(found, Op):
                self._replaced.setdefault((found, slot), getattr(found, slot))
            found.put_rule(slot, value)
        if isinstance(found, Op):
            clear_caches()  # derivatives of programs that apply it

    def __getitem__(self, primitive: Any) -> Rule:
        if isinstance(primitive, Primitive):
            if self._holds(primitive):
                return getattr(primitive, self._slot).rule
            if isinstance(primitive, Op) and self._apply is not None and self._is_filled(primitive):
                return OwnRule(self._apply, primitive, self._slot)
        raise KeyError(primitive)

    def _holds(self, primitive: Primitive) -> bool:
        slot = primitive.__dict__.get(self._slot)
        return isinstance(slot, UsersRule) and slot.adapter is self._adapter

    def __delitem__(self, primitive: Any) -> None:
        if not self._holds(checked_primitive(primitive, self._name)):
            raise KeyError(primitive)
        for slot in (self._slot, *self._flags):
            if isinstance(primitive, Op):
                primitive.put_rule(slot, self._replaced.pop((primitive, slot)))
            else:
                delattr(primitive, slot)
        if isinstance(primitive, Op):
            clear_caches()

    def _is_filled(self, op: Op) -> bool:
        return not isinstance(getattr(op, self._slot), Missing)

    def __iter__(self) -> Iterator[Any]:
        """numjet's own operations that have a rule; users' primitives are not listed, but found."""
        if self._apply is not None:
            yield from filter(self._is_filled, all_ops().values())

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return f"<{self._name}: rules of {len(self)} operations, and those of users>"


class RefusedTable(MutableMapping[Any, Rule]):
    """A table that takes no rules, and says why."""

    def __init__(self, name: str, why: str):
        self._name, self._why = name, why

    def __setitem__(self, primitive: Any, rule: Rule) -> None:
        raise NotImplementedError(f"{self._name}[{primitive}]: {self._why}")

    def __getitem__(self, primitive: Any) -> Rule:
        raise KeyError(primitive)

    def __delitem__(self, primitive: Any) -> None:
        raise KeyError(primitive)

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __len__(self) -> int:
        return 0


def listed(primitive: Primitive, what: str, found: Any, count: int | None) -> list[Any]:
    """A rule's sequence of results; TypeError for another number of them than `count`."""
    if not isinstance(found, (list, tuple)) or (count is not None and len(found) != count):
        got = f"{len(found)} of them" if isinstance(found, (list, tuple)) else f"{found!r}"
        wanted = "a list" if count is None else f"a list of {count}"
        raise TypeError(f"the {what} of primitive '{primitive.name}' must give {wanted}, got {got}")
    return list(found)
