"""Settings of the native call path, kept in step with the configuration."""
from __future__ import annotations

from numjet import _native
from numjet.core import transfers
from numjet.core.op import replaced
from numjet.foundation.config import config
from numjet.runtime.device import default_elsewhere


def _read() -> tuple[int, bool, bool]:
    """Called by the native core in a thread whose flags have changed: the serial of the trace token, whether the fast
    path may be used, and whether results that no argument places are arrays of this host."""
    step_by_step = (config.debug_nans or config.debug_infs or config.debug_key_reuse or config.disable_jit
                    or config.check_tracer_leaks or config.no_execution)
    return config.token.serial, not step_by_step and not replaced and transfers.unguarded(), not default_elsewhere()


def fast_paths_allowed() -> bool:
    """Whether fast paths in NumPy may be used for arrays of the host: it is the default device, none of the flags
    jax_debug_nans, jax_debug_infs, jax_debug_key_reuse, jax_disable_jit and jax_no_execution is set, and no operation is
    evaluated by a user's function.

    >>> fast_paths_allowed()
    True
    """
    token = config.token
    if token.plain is None:
        token.plain = not (config.debug_nans or config.debug_infs or config.debug_key_reuse or config.disable_jit
                           or config.no_execution or default_elsewhere())
    return token.plain and not replaced


def _limit_instruction_set() -> None:
    """Limits kernels to the instruction set in the flag, before the first one is used."""
    wanted = config.numjet_instruction_set
    if wanted != "native" and not _native.limit_instruction_set(("baseline", "avx2", "avx512").index(wanted)):
        raise RuntimeError(f"numjet_instruction_set is '{wanted}', which this CPU does not have; leave it 'native'")


_default_limit: list[float] = []


def _follow_async_dispatch() -> None:
    """Lets calls wait for their programs where the flag jax_cpu_enable_async_dispatch is off. It holds for the process."""
    if not config.cpu_enable_async_dispatch and not _default_limit:
        _default_limit.append(_native.set_inline_limit(-1.0))
    elif config.cpu_enable_async_dispatch and _default_limit:
        _native.set_inline_limit(_default_limit.pop())


_limit_instruction_set()
_follow_async_dispatch()
config.on_change(_follow_async_dispatch)
_native.set_config_reader(_read)
