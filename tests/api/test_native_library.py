"""export_native: shared libraries for C programs, against the functions they come from."""

from __future__ import annotations

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import export

RNG = np.random.default_rng(0)
X, A = RNG.standard_normal((300, 64), np.float32), RNG.standard_normal((9, 9))
TABLE = jnp.asarray(RNG.standard_normal((400, 64)))


def called(library, path, arrays):
    """The results of the C function."""
    loaded = ctypes.CDLL(str(path))
    function = getattr(loaded, library.name)
    function.restype = ctypes.c_int64
    given = [np.ascontiguousarray(a) for a in arrays]
    outs = [np.empty(p.aval.shape, p.aval.dtype) for p in library.outputs]
    status = function(*[ctypes.c_void_p(a.ctypes.data) for a in (*given, *outs)])
    assert status == 0
    return outs


def everything(params, x, unused):
    hidden = jnp.tanh(x @ params["w"])
    last, sums = nj.lax.scan(lambda c, row: (jnp.sin(c) + row, c.sum()), hidden[0], hidden)
    half = hidden.astype(jnp.float16) * 2
    return {
        "last": last, "sums": sums, "sorted": jnp.sort(hidden, axis=0)[:3], "half": half[0],
        "brain": half[1].astype("bfloat16"), "positive": hidden[0] > 0, "argmax": jnp.argmax(hidden, axis=1),
        "table": TABLE @ last, "spectrum": jnp.fft.rfft(last),
        "random": nj.random.normal(nj.random.key(3), (5,)), "empty": x[:0],
    }


def test_results_are_those_of_the_function(tmp_path):
    args = ({"w": RNG.standard_normal((64, 64), np.float32)}, X, 1.0)
    library = export.export_native(everything)(*args)
    assert [p.name for p in library.inputs] == ["params_w", "x", "unused"]
    assert [p.used for p in library.inputs] == [True, True, False]
    found = called(library, library.save(tmp_path), [args[0]["w"], X, np.float32(1)])
    for got, expected in zip(found, nj.tree.leaves(nj.jit(everything)(*args)), strict=True):
        np.testing.assert_array_equal(got.view(np.uint8), np.asarray(expected).view(np.uint8))


def test_a_c_program_calls_it(tmp_path):
    def kalman(x, p, z):
        gain = jnp.linalg.solve(p + jnp.eye(2), p)
        return x + gain @ (z - x), p - gain @ p

    given = jnp.array([1.0, 2.0]), jnp.array([[2.0, 0.5], [0.5, 1.0]]), jnp.array([1.5, 1.0])
    library = export.export_native(kalman, instruction_set="baseline")(*given)
    assert library.save(tmp_path) == tmp_path / "libkalman.so"
    (tmp_path / "main.c").write_text("""
        #include <stdio.h>
        #include "kalman.h"
        int main(void) {
          float x[2] = {1, 2}, p[4] = {2, .5, .5, 1}, z[2] = {1.5, 1}, mean[2], spread[4];
          kalman_set_threads(1);
          int64_t status = kalman(x, p, z, mean, spread);
          printf("%s %.9g %.9g %.9g\\n", kalman_message(status), mean[0], mean[1], spread[3]);
          return status != 0;
        }""")
    subprocess.run([shutil.which("cc") or "gcc", "-std=c11", "-Wall", "-Werror", "main.c", "-L.", "-lkalman",
                    "-Wl,-rpath,$ORIGIN", "-o", "main"], cwd=tmp_path, check=True)
    text = subprocess.run([tmp_path / "main"], env={}, capture_output=True, text=True, check=True).stdout.split()
    mean, spread = kalman(*given)
    assert text[0] == "done"
    np.testing.assert_allclose([float(t) for t in text[1:]], [*mean, spread[1, 1]], rtol=1e-6)
    needed = subprocess.run(["ldd", tmp_path / "libkalman.so"], capture_output=True, text=True, check=True).stdout
    assert "python" not in needed and "numjet" not in needed


def test_decompositions_bring_their_library(tmp_path):
    def spread(a):
        return jnp.linalg.eigvalsh(a @ a.T), jnp.linalg.svd(a)[1]

    with nj.enable_x64(True):
        library = export.export_native(spread)(A)
        assert [p.c_type for p in library.outputs] == ["double", "double"]
        path = library.save(tmp_path)
        for got, expected in zip(called(library, path, [A]), nj.jit(spread)(A), strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-12)
    assert list(tmp_path.glob("*openblas*"))


def test_names():
    library = export.export_native(lambda **kw: (kw["int"], kw["a b"]), name="names")(**{"int": 1, "a b": 2})
    assert [p.name for p in library.inputs] == ["kw_a_b", "kw_int"]   # of kw['a b'] and kw['int']
    assert "int64_t names(const int32_t* " in library.header and library.header.startswith("#ifndef NAMES_H")


@pytest.mark.parametrize(("fun", "arg", "name", "error", "text"), [
    (lambda x: nj.pure_callback(lambda x: x, x, x), 1.0, "f", NotImplementedError, "calls Python"),
    (lambda x: nj.debug.print("{}", x), 1.0, "f", NotImplementedError, "effects"),
    (lambda x: x, 1.0, None, ValueError, r"'<lambda>' is no name of a C function; pass name="),
    (lambda x: x, 1.0, "int", ValueError, "'int' is no name"),
    (lambda x: x, nj.random.key(0), "f", NotImplementedError, r"x is key<fry>\[\], for which C has no type; .*key_data"),
])
def test_what_is_refused(fun, arg, name, error, text):
    with pytest.raises(error, match=text):
        export.export_native(fun, name=name)(arg)


def test_instruction_sets_and_compilers(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="instruction_set must be one of native, avx512, avx2, baseline, got 'sse9'"):
        export.export_native(jnp.sin, instruction_set="sse9")
    library = export.export_native(lambda x: x, name="same")(1.0)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RuntimeError, match="found none as c"):
        library.save(tmp_path)
