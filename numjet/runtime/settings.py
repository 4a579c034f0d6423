"""Keeps the native call path in step with the configuration."""
from __future__ import annotations

from numjet import _native
from numjet.foundation.config import config


def _apply() -> None:
    _native.set_config_token(config.trace_token())
    _native.set_fast_path(not (config.debug_nans or config.debug_infs or config.disable_jit or config.check_tracer_leaks))


config.on_change(_apply)
_apply()
