"""LLVM's code generator through the package `llvmlite.binding`: the interface of `code_generator.py` for versions of llvmlite
that it does not know, and for the linker ORC.
"""
from __future__ import annotations

import atexit
import threading

import llvmlite.binding as binding

from numjet.cpu.target import Target
from numjet.foundation import locks

_LOCK = locks.held_at_fork(binding.ffi.lib._lock._lock)  # llvmlite's own: its finalizers take no other


@atexit.register
def _keep_threads_out() -> None:
    """Takes the lock for good at exit, so that no daemon thread is in LLVM while that is torn down.

    Exit handlers that a program runs by hand, while its main thread goes on, take nothing.
    """
    if not threading.main_thread().is_alive():
        _LOCK.acquire()


def host() -> tuple[str, str, str]:
    """The name and the features of this machine's CPU, and the triple of this process."""
    return binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten(), binding.get_process_triple()


def version() -> str:
    """LLVM's version."""
    return ".".join(map(str, binding.llvm_version_info))


class Machine:
    """A code generator for one target with one effort, from 0 to 3."""

    def __init__(self, target: Target, opt: int):
        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
        self.machine = binding.Target.from_triple(target.triple).create_target_machine(
            cpu=target.cpu, features=target.features, opt=opt, reloc="pic", codemodel="small", jit=True)

    def emit(self, text: str, assembly: bool = False, verify: bool = False) -> bytes:
        """Object code, or assembly, of LLVM IR text. Raises RuntimeError with LLVM's message where the text is not valid."""
        module = binding.parse_assembly(text)
        if verify:
            module.verify()
        return self.machine.emit_assembly(module).encode() if assembly else self.machine.emit_object(module)
