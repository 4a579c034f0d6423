"""Keeps the native call path in step with the configuration."""
from __future__ import annotations

from numjet import _native
from numjet.foundation.config import TraceToken, config
from numjet.runtime.device import default_elsewhere


def _apply() -> None:
    _native.set_config_token(config.trace_token())
    _native.set_fast_path(not (config.debug_nans or config.debug_infs or config.disable_jit or config.check_tracer_leaks))


def plain() -> bool:
    """Whether NumPy may do the work here and now for arrays of the host: it is the default device, and nobody wants to look
    at the single steps by jax_debug_nans, jax_debug_infs or jax_disable_jit.

    >>> plain()
    True
    """
    token = config.token
    found = _plain.get(token)
    if found is None:
        found = _plain[token] = not (config.debug_nans or config.debug_infs or config.disable_jit or default_elsewhere())
    return found


_plain: dict[TraceToken, bool] = {}  # tokens live as long as the process
config.on_change(_apply)
_apply()
