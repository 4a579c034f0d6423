"""Conversions between element types as LLVM instructions. bfloat16 and float16 values are their bits in an i16."""
from __future__ import annotations

import numpy as np

from numjet.cpu.codegen.operations import constant
from numjet.cpu.codegen.types import float_literal, scalar_type, splat_literal, suffix, value_type, wide
from numjet.cpu.codegen.writer import FunctionWriter
from numjet.cpu.ir.types import kind

F32 = np.dtype(np.float32)


def convert(w: FunctionWriter, x: str, old: np.dtype, new: np.dtype, lanes: int) -> str:
    """x as the nearest value of dtype `new`."""
    if old == new:
        return x
    source, target = kind(old), kind(new)
    if source == "h":
        single = _half_to_float(w, x, lanes) if old.name == "float16" else _bfloat_to_float(w, x, lanes)
        return convert(w, single, F32, new, lanes)
    if target == "h":
        return _to_small_float(w, x, old, new, lanes)
    before, after = value_type(old, lanes), value_type(new, lanes)
    if target == "b":
        return w.put(f"{'fcmp une' if source == 'f' else 'icmp ne'} {before} {x}, {constant(old, lanes, 0)}")
    if source == "f" and target in "iu":
        return _saturated(w, x, old, new, lanes)
    if source == "b" and target == "f":
        return w.select(after, lanes, x, constant(new, lanes, 1), constant(new, lanes, 0))
    if source == "f":
        instruction = "fpext" if new.itemsize > old.itemsize else "fptrunc"
    elif target == "f":
        instruction = "sitofp" if source == "i" else "uitofp"
    elif old.itemsize == new.itemsize and source != "b":
        return x
    else:
        instruction = "trunc" if new.itemsize < old.itemsize else "sext" if source == "i" else "zext"
    return w.put(f"{instruction} {before} {x} to {after}")


def bitcast(w: FunctionWriter, x: str, old: np.dtype, new: np.dtype, lanes: int) -> str:
    """The same bits as another dtype of that size."""
    if kind(new) == "b":
        return w.put(f"icmp ne {wide('i8', lanes)} {x}, {splat_literal('i8', '0', lanes)}")
    if kind(old) == "b":
        return w.put(f"zext {wide('i1', lanes)} {x} to {wide('i8', lanes)}")
    before, after = value_type(old, lanes), value_type(new, lanes)
    return x if before == after else w.put(f"bitcast {before} {x} to {after}")


def _saturated(w: FunctionWriter, x: str, old: np.dtype, new: np.dtype, lanes: int) -> str:
    """A float as the nearest integer of a dtype, 0 for NaN.

    LLVM writes saturating conversions lane by lane. For vectors, what is out of bounds is 0 meanwhile, as NaN stays.
    """
    if lanes == 1:
        source, to = scalar_type(old), scalar_type(new)
        return w.intrinsic(f"fpto{'ui' if kind(new) == 'u' else 'si'}.sat.{to}.{suffix(source, lanes)}", to, (source, x))
    bounds, word = np.iinfo(new), new if new.itemsize >= 4 else np.dtype(np.int32)
    of, mask = value_type(old, lanes), wide("i1", lanes)
    compare = lambda how, bound: w.put(f"fcmp {how} {of} {x}, {constant(old, lanes, bound)}")
    above, below = compare("oge", bounds.max + 1), compare("olt", bounds.min)
    inside = w.put(f"and {mask} {compare('olt', bounds.max + 1)}, {compare('oge', bounds.min)}")
    safe = w.put(f"select {mask} {inside}, {of} {x}, {of} {constant(old, lanes, 0)}")
    to = value_type(word, lanes)
    out = w.put(f"fpto{'ui' if word.kind == 'u' else 'si'} {of} {safe} to {to}")
    for condition, bound in ((above, bounds.max), (below, bounds.min)):
        out = w.put(f"select {mask} {condition}, {to} {constant(word, lanes, bound)}, {to} {out}")
    return out if word is new else w.put(f"trunc {to} {out} to {value_type(new, lanes)}")


def _bfloat_to_float(w: FunctionWriter, x: str, lanes: int) -> str:
    """bfloat16 is the upper half of float32."""
    i32 = wide("i32", lanes)
    wider = w.put(f"zext {wide('i16', lanes)} {x} to {i32}")
    shifted = w.put(f"shl {i32} {wider}, {splat_literal('i32', '16', lanes)}")
    return w.put(f"bitcast {i32} {shifted} to {wide('float', lanes)}")


def _half_to_float(w: FunctionWriter, x: str, lanes: int) -> str:
    """float16 to float32; without the instruction by a product with 2^112, which also handles subnormals."""
    real = wide("float", lanes)
    if w.module.target.half:
        return w.put(f"fpext {wide('half', lanes)} {w.put(_cast('i16', x, 'half', lanes))} to {real}")
    i32 = wide("i32", lanes)
    bits = w.put(f"zext {wide('i16', lanes)} {x} to {i32}")
    shifted = w.put(f"shl {i32} {w.put(f'and {i32} {bits}, {_all(0x7FFF, lanes)}')}, {_all(13, lanes)}")
    scale = splat_literal("float", float_literal(2.0**112), lanes)
    scaled = w.put(_cast("float", w.put(f"fmul {real} {w.put(_cast('i32', shifted, 'float', lanes))}, {scale}"), "i32",
                         lanes))
    special = w.put(f"icmp uge {i32} {shifted}, {_all(0x7C00 << 13, lanes)}")
    filled = w.put(f"or {i32} {shifted}, {_all(0x7F800000, lanes)}")
    size = w.put(f"select {wide('i1', lanes)} {special}, {i32} {filled}, {i32} {scaled}")
    sign = w.put(f"shl {i32} {w.put(f'and {i32} {bits}, {_all(0x8000, lanes)}')}, {_all(16, lanes)}")
    return w.put(_cast("i32", w.put(f"or {i32} {size}, {sign}"), "float", lanes))


def _cast(old: str, x: str, new: str, lanes: int) -> str:
    return f"bitcast {wide(old, lanes)} {x} to {wide(new, lanes)}"


def _all(value: int, lanes: int) -> str:
    return splat_literal("i32", str(value), lanes)


def _to_small_float(w: FunctionWriter, x: str, old: np.dtype, new: np.dtype, lanes: int) -> str:
    """Through float32, rounded so that a second rounding gives what one from float64 to float16 would."""
    if new.name == "float16" and old.itemsize == 8 and kind(old) == "f":
        return _float_to_half(w, _round_to_odd(w, x, lanes), lanes)
    single = convert(w, x, old, F32, lanes)
    return _float_to_half(w, single, lanes) if new.name == "float16" else _float_to_bfloat(w, single, lanes)


def _round_to_odd(w: FunctionWriter, x: str, lanes: int) -> str:
    """float64 to float32; an inexact result gets an odd last bit (Boldo and Melquiond 2005)."""
    f32, f64, i32, i1 = (wide(name, lanes) for name in ("float", "double", "i32", "i1"))
    near = w.put(f"fptrunc {f64} {x} to {f32}")
    back = w.put(f"fpext {f32} {near} to {f64}")
    inexact = w.put(f"fcmp one {f64} {back}, {x}")
    bits = w.put(_cast("float", near, "i32", lanes))
    even = w.put(f"icmp eq {i32} {w.put(f'and {i32} {bits}, {_all(1, lanes)}')}, {_all(0, lanes)}")
    size, size_back = (w.intrinsic(f"fabs.{suffix('double', lanes)}", f64, (f64, v)) for v in (x, back))
    larger = w.put(f"fcmp olt {f64} {size_back}, {size}")
    step = w.put(f"select {i1} {larger}, {i32} {_all(1, lanes)}, {i32} {_all(-1, lanes)}")
    shifted = w.put(f"add {i32} {bits}, {step}")
    odd = w.put(f"select {i1} {w.put(f'and {i1} {inexact}, {even}')}, {i32} {shifted}, {i32} {bits}")
    return w.put(_cast("i32", odd, "float", lanes))


def _float_to_bfloat(w: FunctionWriter, x: str, lanes: int) -> str:
    """Rounds to nearest even by an integer addition; a NaN stays one."""
    i32, i16 = wide("i32", lanes), wide("i16", lanes)
    bits = w.put(_cast("float", x, "i32", lanes))
    last = w.put(f"and {i32} {w.put(f'lshr {i32} {bits}, {_all(16, lanes)}')}, {_all(1, lanes)}")
    rounded = w.put(f"add {i32} {w.put(f'add {i32} {bits}, {_all(0x7FFF, lanes)}')}, {last}")
    nan = w.put(f"fcmp uno {wide('float', lanes)} {x}, {x}")
    quiet = w.put(f"or {i32} {bits}, {_all(0x400000, lanes)}")
    chosen = w.put(f"select {wide('i1', lanes)} {nan}, {i32} {quiet}, {i32} {rounded}")
    return w.put(f"trunc {i32} {w.put(f'lshr {i32} {chosen}, {_all(16, lanes)}')} to {i16}")


def _float_to_half(w: FunctionWriter, x: str, lanes: int) -> str:
    """float32 to float16, to nearest even; without the instruction by integers for normal results, and by adding a magic
    number, whose last bit is 2^-24, for subnormal ones."""
    if w.module.target.half:
        narrow = w.put(f"fptrunc {wide('float', lanes)} {x} to {wide('half', lanes)}")
        return w.put(_cast("half", narrow, "i16", lanes))
    i32, f32, i1 = wide("i32", lanes), wide("float", lanes), wide("i1", lanes)
    bits = w.put(_cast("float", x, "i32", lanes))
    size = w.put(f"and {i32} {bits}, {_all(0x7FFFFFFF, lanes)}")
    odd = w.put(f"and {i32} {w.put(f'lshr {i32} {size}, {_all(13, lanes)}')}, {_all(1, lanes)}")
    rounded = w.put(f"add {i32} {w.put(f'add {i32} {size}, {_all(0xFFF - (112 << 23), lanes)}')}, {odd}")
    normal = w.put(f"lshr {i32} {rounded}, {_all(13, lanes)}")
    magic = splat_literal("float", float_literal(0.5), lanes)
    summed = w.put(f"fadd {f32} {w.put(_cast('i32', size, 'float', lanes))}, {magic}")
    small = w.put(f"sub {i32} {w.put(_cast('float', summed, 'i32', lanes))}, {_all(0x3F000000, lanes)}")
    is_small = w.put(f"icmp ult {i32} {size}, {_all(113 << 23, lanes)}")
    finite = w.put(f"select {i1} {is_small}, {i32} {small}, {i32} {normal}")
    is_large = w.put(f"icmp uge {i32} {size}, {_all(143 << 23, lanes)}")
    bounded = w.put(f"select {i1} {is_large}, {i32} {_all(0x7C00, lanes)}, {i32} {finite}")
    payload = w.put(f"and {i32} {w.put(f'lshr {i32} {size}, {_all(13, lanes)}')}, {_all(0x3FF, lanes)}")
    quiet = w.put(f"or {i32} {payload}, {_all(0x7E00, lanes)}")
    is_nan = w.put(f"icmp ugt {i32} {size}, {_all(0x7F800000, lanes)}")
    chosen = w.put(f"select {i1} {is_nan}, {i32} {quiet}, {i32} {bounded}")
    sign = w.put(f"and {i32} {w.put(f'lshr {i32} {bits}, {_all(16, lanes)}')}, {_all(0x8000, lanes)}")
    return w.put(f"trunc {i32} {w.put(f'or {i32} {chosen}, {sign}')} to {wide('i16', lanes)}")
