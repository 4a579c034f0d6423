"""Code generation by llvmlite's library: beside `llvmlite.binding`, in threads, in forks, and for wrong text."""
from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading

import llvmlite
import pytest

from numjet.cpu.native_code import binding_generator, code_generator, jit, machines

TEXT = """define i64 @f(ptr %ins, ptr %outs, ptr %scratch, ptr %info) {
  ret i64 7
}
"""


LONG = """
import threading
from numjet.cpu.native_code import jit, machines
lines = "\\n".join(f"  %v{k + 1} = fmul double %v{k}, %v{k // 2}" for k in range(4000))
text = "define double @f(double %v0) {\\n" + lines + "\\n  ret double %v4000\\n}\\n"
begun = threading.Event()
def long(times):
    for _ in range(times):
        with machines.borrowed(jit.host(), 2) as machine:
            begun.set()
            machine.emit(text)
"""


def test_the_functions_are_known_for_the_installed_version():
    assert code_generator.is_known(llvmlite.__version__)
    assert code_generator.is_known("0.45.1") and code_generator.is_known("0.50.0rc1")
    assert not any(map(code_generator.is_known, ("0.44.0", "0.51.0", "1.0.0", "0+unknown", "")))


def test_this_machine_and_code_are_those_of_the_binding():
    assert code_generator.host() == binding_generator.host()
    assert code_generator.version() == binding_generator.version()
    for opt in (0, 2):
        ours, theirs = (module.Machine(jit.host(), opt) for module in (code_generator, binding_generator))
        assert ours.emit(TEXT) == theirs.emit(TEXT)
        assert ours.emit(TEXT, assembly=True) == theirs.emit(TEXT, assembly=True)


@pytest.mark.parametrize("module", [code_generator, binding_generator])
def test_wrong_text_and_wrong_targets_are_errors(module):
    machine = module.Machine(jit.host(), 0)
    with pytest.raises(RuntimeError, match="parsing error"):
        machine.emit("define i64 @f() { jump }")
    twice = "define i64 @f() {\n  %x = add i64 %y, 2\n  %y = add i64 %x, 1\n  ret i64 %y\n}\n"
    with pytest.raises(RuntimeError, match="dominate"):
        machine.emit(twice, verify=True)
    with pytest.raises(RuntimeError, match=r"(?i)no available targets|unable to find target|no target|unknown"):
        module.Machine(jit.host().replace(triple="nowhere-none"), 0)
    assert machine.emit(TEXT)


def test_a_short_compilation_does_not_wait_for_a_long_one():
    with machines.borrowed(jit.host(), 2):
        thread = threading.Thread(target=jit.compile_object, args=(TEXT,))
        thread.start()
        thread.join(60)
        assert not thread.is_alive()


def test_generators_are_used_again():
    jit.compile_object(TEXT)
    made = len(machines._made)
    for _ in range(5):
        jit.compile_object(TEXT)
    assert len(machines._made) == made


def run(script: str, before: str = "") -> str:
    done = subprocess.run([sys.executable, "-c", before + textwrap.dedent(script)], capture_output=True, text=True, timeout=120,
                          env={**os.environ, "NUMJET_CACHE": "0"})
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_first_compilation_imports_neither_the_binding_nor_what_takes_long():
    out = run("""
        import sys, numjet as nj
        nj.jit(lambda x: nj.numpy.sin(x) + 1)(2.0)
        print(sorted({"dataclasses", "fractions", "llvmlite.binding", "pathlib", "statistics", "tempfile"} & set(sys.modules)))
    """)
    assert out == "[]\n"


def test_versions_that_are_not_known_go_through_the_binding():
    out = run("""
        import sys, llvmlite
        llvmlite.__version__ = "9.9.0"
        import numjet as nj
        print(nj.jit(lambda x: nj.numpy.sin(x) * 0 + 1)(2.0), "llvmlite.binding" in sys.modules)
    """)
    assert out == "1.0 True\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_fork_waits_for_a_thread_in_llvm():
    out = run("""
        import os, numjet as nj
        threading.Thread(target=long, args=(1,)).start()
        begun.wait()
        pid = os.fork()
        assert nj.jit(lambda x: x * 3)(2.0) == 6.0
        if pid == 0:
            os._exit(0)
        print(os.waitpid(pid, 0)[1])
    """, LONG)
    assert out == "0\n"


def test_a_process_ends_while_a_daemon_thread_is_in_llvm():
    out = run("""
        threading.Thread(target=long, args=(1000,), daemon=True).start()
        begun.wait()
        print("end")
    """, LONG)
    assert out == "end\n"
