"""What numjet leaves as it is in the process that imports it: LLVM's options, and the environment."""
from __future__ import annotations

from tests.safety.children import script

SCRIPT = """
import os
import llvmlite.binding as llvm

llvm.initialize_native_target()
llvm.initialize_native_asmprinter()
machine = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(opt=2)


def assembly():   # one product in two blocks, which machine CSE merges
    return machine.emit_assembly(llvm.parse_assembly(
        "define i64 @f(i64 %n, i64 %m) {\\n  %s = mul i64 %n, %m\\n  %c = icmp sgt i64 %s, 9\\n"
        "  br i1 %c, label %then, label %done\\nthen:\\n  %t = mul i64 %n, %m\\n  %u = xor i64 %t, %n\\n"
        "  ret i64 %u\\ndone:\\n  ret i64 %s\\n}"))


before, environment, options = assembly(), dict(os.environ), []
set_option = llvm.set_option
llvm.set_option = llvm.options.set_option = lambda *words: (options.append(words), set_option(*words))
import numpy as np
import numjet as nj
import numjet.numpy as jnp


def long(x):
    for k in range(300):
        x = jnp.sin(x) * x[::-1] if k % 2 else jnp.cumsum(x)
    return x


x = np.full(100, 0.01, np.float32)
nj.jit(lambda x: jnp.sum(jnp.exp(x)))(x).block_until_ready()
nj.jit(long)(x).block_until_ready()
jnp.linalg.solve(np.eye(3, dtype=np.float32), x[:3]).block_until_ready()
assert not options, options
assert assembly() == before
assert dict(os.environ) == environment
print("same")
"""


def test_options_of_llvm_and_the_environment_stay():
    assert script(SCRIPT) == "same\n"
