"""Interleaved access (complex numbers, points, short rows): whole vectors and shuffles instead of gathers and scatters.

Lanes that step by 2 to 8 elements take parts of whole groups. A group may be read as a whole where every group that the loop
meets is known to lie inside the buffer. As many vectors as a group has elements hold the groups of all lanes; shuffles
deinterleave and interleave them, by halves where that number is even, so that 8 vectors take 24 shuffles.
"""
from __future__ import annotations

from numjet.cpu.analysis.affine import Sum
from numjet.cpu.analysis.neighbours import LARGEST_GROUP
from numjet.cpu.codegen.memory.addresses import Addresses, StridedLoad
from numjet.cpu.codegen.memory.instructions import load_vector, loaded, store_vector
from numjet.cpu.codegen.scopes import Value
from numjet.cpu.codegen.types import memory_type, scalar_type
from numjet.cpu.codegen.writer import FunctionWriter
from numjet.cpu.ir.nodes import BOOL, Buffer, Expr, Stmt, Store
from numjet.cpu.ir.traversal import nodes


def load_interleaved(addresses: Addresses, request: StridedLoad) -> Value | None:
    """The element of each group that is requested; None where groups are not known to lie inside the buffer."""
    buffer, index, step, mask, guarded, _ = request
    if guarded or step is None or not 2 <= step <= LARGEST_GROUP:
        return None
    w, exprs, dtype = addresses.writer, addresses.writer.module.exprs, buffer.dtype
    member = addresses.context.affine.split(index).constant % step
    first = exprs.prim("sub", index, exprs.index(member))
    if not addresses.context.ranges.within(first, 0, buffer.certain - step):
        return None
    lanes = addresses.context.lanes
    address = addresses.element(buffer, first)
    scope = addresses.hoist_load(max(address.depth, mask.depth if mask else 0), buffer, index)
    reads = addresses.reads(buffer, address.reads)
    key = ("group", address.text, lanes, step, mask.text if mask else None)
    found = w.known.get((*key, member))
    if found is None or found.depth > scope.depth:
        vectors = []
        for k in range(step):
            pointer, part_mask = _pointer(addresses, address, buffer, k), _mask(addresses, step, k)
            w.insertion = scope
            vectors.append(load_vector(w, dtype, lanes, pointer, part_mask))
        for k, text in enumerate(deinterleave(w, memory_type(dtype), lanes, vectors)):
            w.define((*key, k), text, lanes, reads)
    return loaded(w, dtype, lanes, w.known[(*key, member)].text, reads)


def _pointer(addresses: Addresses, address: Value, buffer: Buffer, k: int) -> str:
    """Where vector k of the groups of all lanes starts."""
    return addresses.advance(address, buffer, k * addresses.context.lanes).text if k else address.text


def _mask(addresses: Addresses, step: int, k: int) -> str | None:
    """The mask of vector k of `step`: each lane of the loop's mask repeated `step` times."""
    mask, w = addresses.context.mask, addresses.writer
    if mask is None:
        return None
    lanes, key = mask.lanes, ("part", mask.text, step, k)
    found = w.known.get(key)
    if found is None:
        w.hoist(mask.depth)
        order = [(k * lanes + lane) // step for lane in range(lanes)]
        found = w.define(key, w.shuffle("i1", lanes, mask.text, "poison", order), lanes)
    return found.text


def store_group(addresses: Addresses, stmts: list[Stmt]) -> int:
    """Writes the stores that `stmts` begins with as one, if they fill whole groups; returns how many these were."""
    head = stmts[0]
    if addresses.context.vector is None or not isinstance(head, Store) or head.buffer.dtype == BOOL:
        return 0
    addresses.evaluate_terms(head.index)
    step = addresses.context.stride(head.index)
    if step is None or not 2 <= step <= LARGEST_GROUP or len(stmts) < step:
        return 0
    stores = [s for s in stmts[:step] if isinstance(s, Store) and s.buffer is head.buffer]
    members = _members([addresses.context.affine.split(s.index) for s in stores])
    if sorted(members) != list(range(step)) or not _independent(addresses, stores):
        return 0
    _store(addresses, [stores[members.index(k)] for k in range(step)])
    return step


def _independent(addresses: Addresses, stores: list[Store]) -> bool:
    """Whether no stored value depends on what an earlier one of the stores writes."""
    done: list[Sum] = []
    for s in stores:
        read = [addresses.context.affine.split(e.args[0]) for e in nodes([s.value]) if e.op == "load" and e.attr is s.buffer]
        if any(r.terms != place.terms or r.constant == place.constant for r in read for place in done):
            return False
        done.append(addresses.context.affine.split(s.index))
    return True


def _store(addresses: Addresses, stores: list[Store]) -> None:
    w, buffer, lanes, step = addresses.writer, stores[0].buffer, addresses.context.lanes, len(stores)
    values = [addresses.value(s.value) for s in stores]
    address = addresses.element(buffer, stores[0].index)
    masks = [_mask(addresses, step, k) for k in range(step)]
    pointers = [_pointer(addresses, address, buffer, k) for k in range(step)]
    w.here()
    texts = [w.fit(_frozen(w, v, s.value), s.value, lanes) for v, s in zip(values, stores, strict=True)]
    vectors = _interleave(w, scalar_type(buffer.dtype), lanes, texts)
    for text, pointer, mask in zip(vectors, pointers, masks, strict=True):
        store_vector(addresses.context, buffer.dtype, text, pointer, mask)
    w.values.invalidate([buffer])


def _frozen(w: FunctionWriter, value: Value, expr: Expr) -> Value:
    """A scalar behind a `freeze`, others as they are.

    Where LLVM 22's instruction selection for effort 0 folds loads into broadcasts that are shuffled afterwards, it can make a
    chain of memory accesses that contains itself, and end the process. A frozen value is not folded."""
    if value.lanes > 1 or value.literal:
        return value
    return Value(w.put(f"freeze {scalar_type(expr.dtype)} {value.text}"), 1, w.insertion.depth, value.reads)


def _members(indices: list[Sum]) -> list[int]:
    """The distance of each index from the lowest one; [] where these vary."""
    lowest = min(total.constant for total in indices)
    same = all(dict(total.terms) == dict(indices[0].terms) for total in indices)
    return [total.constant - lowest for total in indices] if same else []


def deinterleave(w: FunctionWriter, element: str, lanes: int, vectors: list[str]) -> list[str]:
    """The first elements of all groups, the second ones, ..., given the vectors that hold the groups one after the other."""
    step = len(vectors)
    if step == 1:
        return vectors
    if step % 2 == 0:
        halves = [deinterleave(w, element, lanes, [w.shuffle(element, lanes, a, b, range(odd, 2 * lanes, 2))
                                                    for a, b in zip(vectors[::2], vectors[1::2], strict=True)])
                  for odd in (0, 1)]
        return [vector for pair in zip(*halves, strict=True) for vector in pair]
    return [_pick(w, element, lanes, vectors, [member + lane * step for lane in range(lanes)]) for member in range(step)]


def _interleave(w: FunctionWriter, element: str, lanes: int, vectors: list[str]) -> list[str]:
    """The inverse of `deinterleave`."""
    step = len(vectors)
    if step == 1:
        return vectors
    if step % 2 == 0:
        halves = [_interleave(w, element, lanes, vectors[odd::2]) for odd in (0, 1)]
        order = [lane + k * lanes for lane in range(lanes) for k in range(2)]
        return [w.shuffle(element, lanes, a, b, order[half * lanes:(half + 1) * lanes])
                for a, b in zip(*halves, strict=True) for half in range(2)]
    return [_pick(w, element, lanes, vectors, [k % step * lanes + k // step for k in range(v * lanes, (v + 1) * lanes)])
            for v in range(step)]


def _pick(w: FunctionWriter, element: str, lanes: int, vectors: list[str], positions: list[int]) -> str:
    """Elements of vectors, by their positions in all vectors one after the other."""
    picked = vectors[0]
    for k, vector in enumerate(vectors[1:], 1):
        order = [position % lanes + lanes if position // lanes == k else position % lanes if k == 1 else lane
                 for lane, position in enumerate(positions)]
        picked = w.shuffle(element, lanes, picked, vector, order)
    return picked
