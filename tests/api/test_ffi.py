"""C functions called from compiled programs: the typed FFI, untyped functions, batches, aliases, states and errors."""
from __future__ import annotations

import ctypes

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import ffi, random
from numjet.errors import JaxRuntimeError
from numjet.extend.core import Primitive
from numjet.interpreters import mlir
from tests.c_libraries import compiled

SOURCE = r"""
#include <stddef.h>
#include <stdint.h>
#include <string.h>
typedef struct { size_t size; void* ext; int32_t dtype; char* data; int64_t rank; int64_t* dims; } Buffer;
typedef struct { size_t size; void* ext; int64_t count; int32_t* types; Buffer** items; } Buffers;
typedef struct { const char* ptr; size_t len; } Span;
typedef struct { int32_t dtype; void* value; } Scalar;
typedef struct { int32_t dtype; size_t count; void* data; } Array;
typedef struct Attrs { size_t size; void* ext; int64_t count; int32_t* types; Span** names; void** items; } Attrs;
typedef struct { size_t size; void* ext; const char* message; int32_t code; } ErrorCreate;
typedef struct { size_t size; void* ext; void* ctx; int32_t stage; int64_t* type_id; void* state; } State;
typedef void* (*Function)(void*);
typedef struct { size_t size; void* ext; struct { size_t size; void* ext; int32_t major, minor; } version; void* internal;
                 Function functions[18]; } Api;
typedef struct { size_t size; void* ext; Api* api; void* ctx; int32_t stage; Buffers args, rets; Attrs attrs; void* future;
               } Frame;

static void* error(Frame* f, const char* message) {
  ErrorCreate e = {sizeof e, 0, message, 3};
  return f->api->functions[0](&e);
}
static int64_t count(Buffer* b) { int64_t n = 1; for (int64_t i = 0; i < b->rank; i++) n *= b->dims[i]; return n; }

void* scale(Frame* f) {  // y = k * x
  Buffer *x = f->args.items[0], *y = f->rets.items[0];
  if (f->attrs.count != 1 || strcmp(f->attrs.names[0]->ptr, "k") || f->attrs.types[0] != 3) return error(f, "expected k");
  Scalar* k = f->attrs.items[0];
  if (k->dtype != 12 || x->dtype != 11) return error(f, "expected float64 k and float32 x");
  for (int64_t i = 0; i < count(x); i++) ((float*)y->data)[i] = ((float*)x->data)[i] * (float)*(double*)k->value;
  return 0;
}
void* add(Frame* f) {  // broadcasts an operand with a leading axis of size 1
  Buffer *a = f->args.items[0], *b = f->args.items[1], *y = f->rets.items[0];
  int64_t n = count(a), m = count(b);
  for (int64_t i = 0; i < count(y); i++) ((float*)y->data)[i] = ((float*)a->data)[i % n] + ((float*)b->data)[i % m];
  return 0;
}
void* next(Frame* f) {  // in the memory of the operand
  if (f->args.items[0]->data != f->rets.items[0]->data) return error(f, "not aliased");
  for (int64_t i = 0; i < count(f->rets.items[0]); i++) ((float*)f->rets.items[0]->data)[i] += 1;
  return 0;
}
void* copy(Frame* f) {
  memcpy(f->rets.items[0]->data, f->args.items[0]->data, 4 * count(f->args.items[0]));
  return 0;
}
void* describe(Frame* f) {  // of an attribute of each kind: what it says
  int32_t* y = (int32_t*)f->rets.items[0]->data;
  Array* a = f->attrs.items[0];
  Attrs* d = f->attrs.items[1];
  Span* s = f->attrs.items[2];
  y[0] = (int32_t)a->count * 10 + ((int32_t*)a->data)[a->count - 1];
  y[1] = (int32_t)*(int64_t*)((Scalar*)d->items[0])->value;
  y[2] = (int32_t)s->len;
  return 0;
}
void* two(Frame* f) {
  for (int k = 0; k < 2; k++) ((int32_t*)f->rets.items[k]->data)[0] = (int32_t)f->rets.items[k]->rank;
  return 0;
}
static int made, ran;
void* instantiate(Frame* f) {
  static int64_t type = 1;
  State s = {sizeof s, 0, f->ctx, f->stage, &type, &made};
  made++;
  return f->api->functions[7](&s);
}
void* with_state(Frame* f) {
  static int64_t type = 1;
  State s = {sizeof s, 0, f->ctx, 0, &type, 0};
  void* failed = f->api->functions[8](&s);
  if (failed) return failed;
  ran++;
  ((int32_t*)f->rets.items[0]->data)[0] = *(int*)s.state;
  return 0;
}
int calls(void) { return ran; }
void untyped(float* out, float** ins) { for (int i = 0; i < 4; i++) out[i] = ins[0][i] - ins[1][i]; }
void untyped_pair(float** outs, float** ins) { outs[0][0] = ins[0][0] + 1; outs[1][0] = ins[0][0] + 2; }
"""
TYPED = ("scale", "add", "next", "copy", "describe", "two")


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    found = ctypes.CDLL(compiled(SOURCE, tmp_path_factory.mktemp("ffi")))
    for name in TYPED:
        ffi.register_ffi_target(f"test_{name}", ffi.pycapsule(getattr(found, name)))
    ffi.register_ffi_target("test_state", {"instantiate": ffi.pycapsule(found.instantiate),
                                           "execute": ffi.pycapsule(found.with_state)})
    for name in ("untyped", "untyped_pair"):
        ffi.register_ffi_target(f"test_{name}", ffi.pycapsule(getattr(found, name)), api_version=0)
    return found


def like(x):
    return nj.ShapeDtypeStruct(x.shape, x.dtype)


def scale(x, k=3.0, **how):
    return ffi.ffi_call("test_scale", like(x), **how)(x, k=k)


def add(a, b, **how):
    return ffi.ffi_call("test_add", like(a), **how)(a, b)


X = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.mark.parametrize("wrap", [lambda f: f, nj.jit])
@pytest.mark.parametrize("x", [X, X[:, ::2], np.float32(2), np.zeros((0, 3), np.float32), np.arange(1000, dtype=np.float32)])
def test_calls(library, wrap, x):
    np.testing.assert_array_equal(wrap(lambda x: scale(x * 2) + 1)(jnp.asarray(x)), 6 * x + 1)


@pytest.mark.parametrize("method", [None, "sequential", "sequential_unrolled", "expand_dims", "broadcast_all",
                                    "legacy_vectorized"])
def test_batches(library, method):
    y = X[0] * 10
    for f, args, want in [
        (lambda a: scale(a, vmap_method=method), (X,), 3 * X),
        (lambda a: add(a, y, vmap_method=method), (X,), X + y),
        (nj.vmap(lambda a: add(a, y, vmap_method=method)), (np.stack([X, X + 1]),), np.stack([X, X + 1]) + y),
    ]:
        np.testing.assert_array_equal(nj.jit(nj.vmap(f))(*args), want)


def test_unknown_methods_are_refused(library):
    with pytest.raises(ValueError, match="vmap_method must be None or one of"):
        scale(X, vmap_method="each")


def test_derivatives_are_the_users(library):
    with pytest.raises(ValueError, match="The FFI call to `test_scale` cannot be differentiated"):
        nj.grad(lambda x: scale(x).sum())(X)

    @nj.custom_vjp
    def tripled(x):
        return scale(x)
    tripled.defvjp(lambda x: (scale(x), None), lambda _, ct: (scale(ct),))
    np.testing.assert_array_equal(nj.jit(nj.grad(lambda x: (tripled(x) * X).sum()))(X), 3 * X)


def test_aliases(library):
    f = lambda x: ffi.ffi_call("test_next", like(x), input_output_aliases={0: 0})(x)
    x = jnp.asarray(X)
    np.testing.assert_array_equal(nj.jit(f)(x), X + 1)
    np.testing.assert_array_equal(x, X)
    with pytest.raises(JaxRuntimeError, match="test_next failed in stage execute with code 3: not aliased"):
        nj.jit(lambda x: ffi.ffi_call("test_next", like(x))(x))(x).block_until_ready()
    for aliases, phrase in (({1: 0}, "with input index 1 outside"), ({0: 1}, "with output index 1 outside")):
        with pytest.raises(ValueError, match=phrase):
            ffi.ffi_call("test_next", like(x), input_output_aliases=aliases)(x)
    with pytest.raises(ValueError, match=r"referring to an input with abstract value .* same shape and dtype"):
        ffi.ffi_call("test_next", nj.ShapeDtypeStruct((2,), np.float32), input_output_aliases={0: 0})(x)


def test_layouts(library):
    call = lambda x, **how: ffi.ffi_call("test_copy", like(x), **how)(x)
    np.testing.assert_array_equal(call(X, input_layouts=[(1, 0)]), X.T.reshape(2, 3))
    np.testing.assert_array_equal(call(X, output_layouts=(1, 0)), X.reshape(3, 2).T)
    np.testing.assert_array_equal(call(X, input_layouts=[(1, 0)], output_layouts=(1, 0)), X)
    batch = np.stack([X, -X])
    got = nj.vmap(lambda x: call(x, input_layouts=[(1, 0)], vmap_method="broadcast_all"))(batch)
    np.testing.assert_array_equal(got, [X.T.reshape(2, 3), -X.T.reshape(2, 3)])
    with pytest.raises(ValueError, match="each axis of an array of rank 2 once"):
        call(X, input_layouts=[(0, 0)])


@pytest.mark.parametrize("impl", ["threefry2x32", "rbg"])
def test_random_keys_are_their_words(library, impl):
    keys = random.split(random.key(3, impl=impl), 6).reshape(2, 3)
    copied = lambda keys: ffi.ffi_call("test_copy", like(keys))(keys)
    words = lambda keys: ffi.ffi_call("test_copy", like(random.key_data(keys)))(keys)
    for f in (copied, nj.jit(copied), nj.vmap(copied), nj.jit(nj.vmap(nj.vmap(copied)))):
        assert f(keys).dtype == keys.dtype
        np.testing.assert_array_equal(random.key_data(f(keys)), random.key_data(keys))
    np.testing.assert_array_equal(nj.jit(words)(keys), random.key_data(keys))
    with pytest.raises(ValueError, match="output_layouts must hold each axis of an array of rank 3"):
        ffi.ffi_call("test_copy", like(keys), output_layouts=(0, 1))


def test_attributes_and_several_results(library):
    call = ffi.ffi_call("test_describe", nj.ShapeDtypeStruct((3,), np.int32))
    assert call(a=np.array([4, 5, 6], np.int32), b={"n": 41}, c="four").tolist() == [36, 41, 4]
    shapes = [nj.ShapeDtypeStruct((1, 1), np.int32), nj.ShapeDtypeStruct((1,), np.int32)]
    assert [x.tolist() for x in nj.jit(lambda: ffi.ffi_call("test_two", shapes)())()] == [[[2]], [1]]
    with pytest.raises(TypeError, match="attribute a must be a number, text"):
        call(a=[1, 2])
    with pytest.raises(ValueError, match="of rank 1"):
        call(a=np.ones((2, 2)))
    with pytest.raises(JaxRuntimeError, match="expected float64 k"):
        scale(X, k=np.float32(2)).block_until_ready()


def test_states_are_made_once(library):
    f = nj.jit(lambda: ffi.ffi_call("test_state", nj.ShapeDtypeStruct((), np.int32), has_side_effect=True)())
    first = int(f())
    assert [int(f()) for _ in range(3)] == [first] * 3


def test_side_effects_happen(library):
    shape = nj.ShapeDtypeStruct((), np.int32)
    for effect, calls in ((True, 1), (False, 0)):
        before = library.calls()

        @nj.jit
        def f(x, effect=effect):
            ffi.ffi_call("test_state", shape, has_side_effect=effect)()
            return x + 1
        f(1.0).block_until_ready()
        nj.effects_barrier()
        assert library.calls() - before == calls


def test_untyped_functions(library):
    a, b = np.arange(4, dtype=np.float32), np.ones(4, np.float32)
    f = ffi.ffi_call("test_untyped", like(a), custom_call_api_version=1)
    np.testing.assert_array_equal(nj.jit(f)(a, b), a - b)
    shapes = (nj.ShapeDtypeStruct((1,), np.float32),) * 2
    got = ffi.ffi_call("test_untyped_pair", shapes, custom_call_api_version=1)(b)
    assert [x.tolist() for x in got] == [[2.0], [3.0]]


def test_wrong_uses(library):
    with pytest.raises(JaxRuntimeError, match="No registered implementation for FFI target 'test_absent'"):
        ffi.ffi_call("test_absent", like(X))(X).block_until_ready()
    for version in (2, 3):
        with pytest.raises(ValueError, match="custom_call_api_version must be 4"):
            ffi.ffi_call("test_scale", like(X), custom_call_api_version=version)
    with pytest.raises(ValueError, match="The use of the legacy_backend_config parameter requires"):
        ffi.ffi_call("test_scale", like(X), legacy_backend_config="1")
    with pytest.raises(ValueError, match="The use of ffi_call attributes requires a custom call API version of at least 4"):
        ffi.ffi_call("test_untyped", like(X), custom_call_api_version=1)(X, by=2)
    for results, k in ((None, 0), ((like(X), ()), 1)):
        with pytest.raises(ValueError, match=f"All elements of result_shape_dtypes must have .* at position {k}"):
            ffi.ffi_call("test_scale", results)
    with pytest.raises(JaxRuntimeError, match="api_version 0"):
        ffi.ffi_call("test_untyped", like(X))(X).block_until_ready()
    with pytest.raises(ValueError, match="registered for cpu as another function"):
        ffi.register_ffi_target("test_scale", library.add)
    with pytest.raises(nj.errors.JaxRuntimeError, match="api_version must be 1"):
        ffi.register_ffi_target("test_other", library.add, api_version=2)
    with pytest.raises(nj.errors.JaxRuntimeError, match="the stages of test_other"):
        ffi.register_ffi_target("test_other", {"run": library.add})
    for none in ("scale", 3, {"execute": 3}):
        with pytest.raises(nj.errors.JaxRuntimeError, match="must be a PyCapsule"):
            ffi.register_ffi_target("test_other", none)
    with pytest.raises(ValueError, match="cannot serialize the operation ffi_call"):
        nj.export.export(nj.jit(scale))(X).serialize()
    ffi.register_ffi_target("test_scale", library.scale)  # the same function again
    ffi.register_ffi_target("test_scale", library.add, platform="CUDA")
    ffi.register_ffi_target_as_batch_partitionable("test_scale")


def test_types_get_numbers():
    number = ctypes.c_int64(0)
    capsule = ffi.pycapsule(ctypes.addressof(number))
    ffi.register_ffi_type("test_type", {"type_id": capsule})
    first = number.value
    ffi.register_ffi_type("test_type", {"type_id": capsule})
    assert first > 0 and number.value == first
    with pytest.raises(nj.errors.JaxRuntimeError, match="register_ffi_type takes a dictionary"):
        ffi.register_ffi_type("test_type", 3)
    with pytest.raises(nj.errors.JaxRuntimeError, match="the type_id of test_type must be a PyCapsule"):
        ffi.register_ffi_type("test_type", {"type_id": 3})


def test_a_primitive_that_is_a_call(library):
    scaled = Primitive("scaled")
    scaled.def_abstract_eval(lambda x, k: x)
    mlir.register_lowering(scaled, ffi.ffi_lowering("test_scale"))
    np.testing.assert_array_equal(nj.jit(lambda x: scaled.bind(x, k=3.0) + 1)(jnp.arange(4.0)), [1, 4, 7, 10])
    fixed = Primitive("fixed")
    fixed.def_abstract_eval(lambda x: x)
    mlir.register_lowering(fixed, ffi.ffi_lowering("test_scale", backend_config={"k": 2.0}, operand_layouts=[(0, 1)],
                                                   result_layouts=[(0, 1)]))
    x = jnp.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(nj.jit(fixed.bind)(x), 2 * x)
    with pytest.raises(NotImplementedError, match="no operand_output_aliases, backend_config as text; leave it out"):
        ffi.ffi_lowering("test_scale", backend_config="k=2", operand_output_aliases={0: 0})
