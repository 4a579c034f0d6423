"""What handlers of foreign calls may call works at any time: after the interpreter has ended, and while a signal waits."""
from __future__ import annotations

import ctypes
import signal
import sys
from pathlib import Path

import numpy as np
import pytest

import numjet as nj
from numjet import ffi
from numjet.errors import JaxRuntimeError
from tests.c_libraries import compiled

sys.path.insert(0, str(Path(__file__).parent))
from children import script

SOURCE = r"""
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>
typedef struct { size_t size; void* ext; int32_t dtype; char* data; } Buffer;
typedef struct { size_t size; void* ext; int64_t count; int32_t* types; Buffer** items; } Buffers;
typedef struct { size_t size; void* ext; const char* message; int32_t code; } ErrorCreate;
typedef struct { size_t size; void* ext; void* ctx; void (*task)(void*); void* data; } Schedule;
typedef struct { size_t size; void* ext; struct { size_t size; void* ext; int32_t major, minor; } version; void* internal;
                 void* (*functions[18])(void*); } Api;
typedef struct { size_t size; void* ext; Api* api; void* ctx; int32_t stage; Buffers args, rets; } Frame;

static void* error(Frame* f) {
  ErrorCreate e = {sizeof e, 0, "as always", 3};
  return f->api->functions[0](&e);
}
static void three(void* y) { *(float*)y = 3; }
static void* three_by_the_pool(Frame* f) {
  Schedule s = {sizeof s, 0, f->ctx, three, f->rets.items[0]->data};
  return f->api->functions[11](&s);
}

void* interrupted_error(Frame* f) { kill(getpid(), SIGUSR1); return error(f); }
void* interrupted_task(Frame* f) { kill(getpid(), SIGUSR1); return three_by_the_pool(f); }

static volatile int ended, began;
int count(void) { return began; }
void end(void* unused) { ended = 1; usleep(300000); }
void* outlives(Frame* f) {
  __sync_fetch_and_add(&began, 1);
  while (!ended) usleep(1000);
  three_by_the_pool(f);
  return error(f);
}
"""
F32 = nj.ShapeDtypeStruct((), np.float32)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return compiled(SOURCE, tmp_path_factory.mktemp("foreign"))


@pytest.mark.skipif(sys.platform != "linux", reason="calls a function of glibc")
def test_handlers_that_outlive_the_interpreter(path):
    """In the caller's thread, in a program there, and in the queue's thread."""
    assert script(f"""
import ctypes
lib, libc = ctypes.CDLL({path!r}), ctypes.CDLL(None)
libc.__cxa_atexit(lib.end, None, None)   # runs after the interpreter
nj.ffi.register_ffi_target("outlives", nj.ffi.pycapsule(lib.outlives))
call = nj.ffi.ffi_call("outlives", nj.ShapeDtypeStruct((), np.float32))
program, queued = nj.jit(lambda: call() + 1), nj.jit(lambda: call() + 2)
for k, (function, limit) in enumerate([(call, None), (program, float("inf")), (queued, 0.0)]):
    if limit is not None:
        _native.set_inline_limit(limit)
    threading.Thread(target=lambda f=function: f().block_until_ready(), daemon=True).start()
    while lib.count() < k + 1:
        time.sleep(0.01)
print("end", flush=True)
""") == "end\n"


class Expired(Exception):
    pass


def expire(*_: object) -> None:
    raise Expired("late")


@pytest.mark.parametrize("name", ["interrupted_error", "interrupted_task"])
def test_a_signal_that_waits_changes_nothing_for_the_handler(path, monkeypatch, name):
    """The handler of the signal raises: after the foreign function, not in what that calls."""
    ffi.register_ffi_target(name, ffi.pycapsule(getattr(ctypes.CDLL(path), name)))
    call, ignored = ffi.ffi_call(name, F32), []
    monkeypatch.setattr(sys, "unraisablehook", ignored.append)
    before = signal.signal(signal.SIGUSR1, expire)
    try:
        for function in (call, nj.jit(call), nj.jit(lambda: call() + 1)):
            for _ in range(5):
                with pytest.raises((Expired, JaxRuntimeError), match=r"late|as always"):
                    function().block_until_ready()
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert not ignored


def test_each_type_has_one_number():
    numbers = [ctypes.c_int64(0) for _ in range(3)]
    for name, number in zip(("test_safety_one", "test_safety_two", "test_safety_one"), numbers, strict=True):
        ffi.register_ffi_type(name, {"type_id": ffi.pycapsule(ctypes.addressof(number))})
    assert numbers[0].value == numbers[2].value != numbers[1].value
