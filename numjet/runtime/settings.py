"""Keeps the native call path in step with the configuration."""
from __future__ import annotations

from numjet import _native
from numjet.foundation.config import config
from numjet.runtime.device import default_elsewhere


def _read() -> tuple[int, bool]:
    """What the native core asks for in a thread whose flags have changed: the number of the combination of flags that
    programs depend on, and whether its own way of doing things is the one that is wanted."""
    step_by_step = config.debug_nans or config.debug_infs or config.disable_jit or config.check_tracer_leaks
    return config.token.serial, not step_by_step


def plain() -> bool:
    """Whether NumPy may do the work here and now for arrays of the host: it is the default device, and nobody wants to look
    at the single steps by jax_debug_nans, jax_debug_infs or jax_disable_jit.

    >>> plain()
    True
    """
    token = config.token
    if token.plain is None:
        token.plain = not (config.debug_nans or config.debug_infs or config.disable_jit or default_elsewhere())
    return token.plain


def _limit_instruction_set() -> None:
    """Holds kernels to the instruction set that the flag names, before the first one is used."""
    wanted = config.numjet_instruction_set
    if wanted != "native" and not _native.limit_instruction_set(("baseline", "avx2", "avx512").index(wanted)):
        raise RuntimeError(f"numjet_instruction_set is '{wanted}', which this CPU does not have; leave it 'native'")


_limit_instruction_set()
_native.set_config_reader(_read)
