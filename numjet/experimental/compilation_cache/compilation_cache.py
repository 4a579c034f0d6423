"""The folder of compiled programs that processes share. See docs/compilation.md for its flags and promises."""
from __future__ import annotations

import os

from numjet.foundation import disk_cache
from numjet.foundation.config import config


def set_cache_dir(path: str | os.PathLike[str]) -> None:
    """Keeps compiled programs in a folder, from where later processes take them; the flag jax_compilation_cache_dir.

    Programs in the folder are executed: it must belong to the user, and nobody else may write it.

    >>> from numjet.experimental.compilation_cache import compilation_cache
    >>> compilation_cache.set_cache_dir("/tmp/programs")    # doctest: +SKIP
    """
    config.update("jax_compilation_cache_dir", os.fspath(path))


def reset_cache() -> None:
    """Forgets what is known of the folder: the next compilation looks at the flags and the folder anew, and warns again.

    >>> from numjet.experimental.compilation_cache import compilation_cache
    >>> compilation_cache.reset_cache()
    """
    disk_cache.forget_warnings()
