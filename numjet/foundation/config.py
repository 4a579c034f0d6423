"""Configuration: process-wide flags with thread-local overrides. The only module that reads the environment.

Values live in the dictionary of a `threading.local`, one per thread. Every change of a flag updates all of them, so that
reading a flag is a plain attribute read. The native core has a per-thread copy of the flags it needs; that is stale when the
epoch, which all threads compare, has changed, or when its thread has marked it.

>>> from numjet.foundation.config import config, enable_x64
>>> config.x64
False
>>> with enable_x64(True):
...     config.x64
True
>>> config.update("jax_enable_x64", False)
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import sys
import threading
import weakref
from collections.abc import Callable, Mapping
from typing import Any

from numjet import _native
from numjet.foundation import absl_flags, locks
from numjet.foundation.flags import ALIASES, BY_NAME, SHORT, Flag, unknown

_ABSENT = object()
_serials = itertools.count(1)
_MOST_RECENT = 16   # tokens


class TraceToken:
    """Interned combination of the values of all flags that programs depend on; compare with `is`.

    `serial` is a number that no other token ever has, for caches that hold no references. `plain` belongs to
    `runtime.settings`. A token lives as long as a thread or a cache holds it, and is among those that were in force lately.
    """

    __slots__ = ("__weakref__", "plain", "serial", "values")

    def __init__(self, values: tuple[tuple[str, Any], ...]):
        self.values = values
        self.serial = next(_serials)
        self.plain: bool | None = None

    def __repr__(self) -> str:
        changed = [f"{name}={value!r}" for name, value in self.values if value != BY_NAME[name].default]
        return f"TraceToken({', '.join(changed)})"


class _Level:
    """One override of one flag; lives until the block that made it ends."""

    __slots__ = ("name", "thread", "value")

    def __init__(self, thread: _Thread, name: str, value: Any):
        self.thread, self.name, self.value = thread, name, value


class _Thread:
    """One thread's values (the dictionary from which attributes are read) and its overrides.

    The overrides of a flag form a stack, whose top is in force. A block that ends removes its own override from anywhere in
    the stack, as generators and tasks may end in another order than they began.
    """

    __slots__ = ("__weakref__", "levels", "values")

    def __init__(self, values: dict[str, Any]):
        self.values = values
        self.levels: dict[str, list[_Level]] = {}

    def override(self, name: str) -> Any:
        """This thread's override of the flag, or _ABSENT."""
        levels = self.levels.get(name)
        return levels[-1].value if levels else _ABSENT


class _Shared:
    """State that all threads share. The lock guards every write; reads take none."""

    def __init__(self, environ: Mapping[str, str]):
        self.lock = locks.lock()
        self.threads: weakref.WeakSet[_Thread] = weakref.WeakSet()
        self.tokens: weakref.WeakValueDictionary[tuple[Any, ...], TraceToken] = weakref.WeakValueDictionary()
        self.recent: dict[TraceToken, None] = {}  # in force lately: who goes back to them finds what serials stand for
        self.callbacks: list[Callable[[], None]] = []
        self.settled: dict[str, str] = {}  # flags that no longer change, and why
        flags = {flag.name: flag for flag in BY_NAME.values()}   # users' contexts among them
        self.values = {name: _initial(flag, environ) for name, flag in flags.items()}
        self.traced = tuple(name for name, flag in flags.items() if flag.traces)
        self.environment = dict(self.values)  # what the environment said when it was read last

    def token(self, values: Mapping[str, Any]) -> TraceToken:
        key = tuple(values[name] for name in self.traced)
        found = self.tokens.get(key)
        if found is None:
            found = self.tokens[key] = TraceToken(tuple(zip(self.traced, key, strict=True)))
        self.recent.pop(found, None)
        self.recent[found] = None
        if len(self.recent) > _MOST_RECENT:
            del self.recent[next(iter(self.recent))]
        return found

    def assign(self, thread: _Thread, name: str) -> bool:
        """Sets the flag's current value for `thread`, under all its names; True when it changed."""
        value = thread.override(name)
        if value is _ABSENT:
            value = self.values[name]
        values = thread.values
        before = values[name]
        if before is value or (type(before) is type(value) and before == value):
            return False
        changes = dict.fromkeys(ALIASES[name], value)
        if BY_NAME[name].traces:
            changes["token"] = self.token({**values, **changes})
        values.update(changes)  # in one step, which no signal handler divides
        return True


def _initial(flag: Flag, environ: Mapping[str, str]) -> Any:
    for variable in (*flag.environment, *flag.options):
        text = _option(environ, variable) if variable in flag.options else environ.get(variable)
        if text is None or (text == "" and flag.optional):
            continue
        try:
            return flag.convert(text)
        except ValueError as error:
            raise ValueError(f"environment variable {variable}={text!r}: {error}") from None
    return flag.default


def _option(environ: Mapping[str, str], option: str) -> str | None:
    """The value of an option in XLA_FLAGS, the last one if there are several."""
    found = re.findall(rf"--{option}=(\S*)", environ.get("XLA_FLAGS", ""))
    return found[-1] if found else None


class Config(threading.local):
    """The flags as this thread sees them: `config.jax_enable_x64`, or shorter `config.x64`.

    `update` changes a flag for the process. The context managers of this module change one for a block in one thread;
    such an override hides the value of the process until the block ends.
    """

    token: TraceToken

    def __init__(self, shared: _Shared):
        values = self.__dict__
        values["_shared"] = shared
        with shared.lock:
            for name, value in shared.values.items():
                for alias in ALIASES[name]:
                    values[alias] = value
            values["token"] = shared.token(shared.values)
            values["_thread"] = _Thread(values)
            shared.threads.add(values["_thread"])

    def __getattr__(self, name: str) -> Any:
        raise unknown(name, (*BY_NAME, *SHORT))

    def __reduce__(self) -> str:
        """Pickled by its name in this module: functions pickled by value mean the flags of the process that loads them."""
        return "config"

    def __setattr__(self, name: str, value: Any) -> None:
        full = SHORT.get(name, name)
        if full not in BY_NAME:
            raise unknown(name, (*BY_NAME, *SHORT))
        raise AttributeError(f"flags are not assigned to; write config.update({full!r}, {value!r})")

    def update(self, name: str, value: Any) -> None:
        """Sets flag `name` to `value` in every thread that does not override it.

        Raises AttributeError for an unknown name (with the nearest known ones) and ValueError for a value that the flag
        does not accept.
        """
        flag = _flag(name)
        value = flag.convert(value)
        _check_changeable(flag, value, self.read(name))
        if flag.name in self._shared.settled and value != self.read(name):
            raise RuntimeError(self._shared.settled[flag.name])
        shared, own = self._shared, self._thread
        with shared.lock:
            shared.values[flag.name] = value
            changed = [thread for thread in list(shared.threads) if shared.assign(thread, flag.name)]
            _native.config_changed()
        if own in changed:
            self._notify()

    def read_environment(self, *names: str) -> None:
        """Reads the environment again, for all flags or some: those whose variables have changed get their new values."""
        said = self._shared.environment
        for flag in map(_flag, names or BY_NAME):
            value = said[flag.name] if flag.fixed else _initial(flag, os.environ)
            if value != said[flag.name]:
                said[flag.name] = value
                self.update(flag.name, value)

    def add(self, flag: Flag) -> None:
        """Adds a flag while the program runs, with its default in every thread."""
        shared = self._shared
        with shared.lock:
            BY_NAME[flag.name], ALIASES[flag.name], shared.values[flag.name] = flag, (flag.name,), flag.default
            shared.traced += (flag.name,) if flag.traces else ()
            for thread in list(shared.threads):
                thread.values[flag.name] = flag.default
                thread.values["token"] = shared.token(thread.values)
            _native.config_changed()

    def settle(self, name: str, why: str) -> None:
        """From now on another value of the flag raises RuntimeError, which says why."""
        self._shared.settled[name] = why

    def read(self, name: str) -> Any:
        """The value of flag `name` in this thread; AttributeError for an unknown name."""
        return self.__dict__[_flag(name).name]

    @property
    def values(self) -> dict[str, Any]:
        """All flags by full name, as this thread sees them."""
        return {name: self.__dict__[name] for name in BY_NAME}

    def trace_token(self) -> TraceToken:
        """`config.token`: an object that stays the same (`is`) as long as no flag that programs depend on changes."""
        return self.token

    def config_with_absl(self) -> None:
        """Defines each flag as a command-line flag of Abseil; `absl.app.run` sets those that the command line has."""
        absl_flags.define(self.update, self.read)

    def parse_flags_with_absl(self) -> None:
        """Sets the flags that the command line has, as `--jax_enable_x64`, and leaves its other arguments alone.

        Raises ValueError for a value that the flag does not accept.
        """
        self.config_with_absl()
        absl_flags.parse(self.update)

    def on_change(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Calls `callback()` after each change of a value, in the thread that made the change; returns a function that
        unsubscribes. Other threads, which merely see an `update`, are not called: compare `config.token` there."""
        callbacks = self._shared.callbacks
        callbacks.append(callback)
        return lambda: callbacks.remove(callback) if callback in callbacks else None

    def _enter(self, level: _Level) -> None:
        """Pushes an override of a flag for this thread."""
        _check_changeable(_flag(level.name), level.value, self.read(level.name))
        with self._shared.lock:
            level.thread.levels.setdefault(level.name, []).append(level)
            changed = self._reassign(level)
        if changed:
            self._notify()

    def _exit(self, level: _Level) -> None:
        """Removes an override from the stack of the thread that made it. May be called again where it was left half-way."""
        with self._shared.lock:
            levels = level.thread.levels.get(level.name, [])
            if level in levels:
                levels.remove(level)
            changed = self._reassign(level)
        if changed:
            self._notify()

    def _set_local(self, name: str, value: Any) -> None:
        """Changes the innermost override of this thread; _ABSENT stands for the value of the process."""
        if value is not _ABSENT:
            _check_changeable(_flag(name), value, self.read(name))
        with self._shared.lock:
            levels = self._thread.levels.setdefault(name, [])
            if not levels:
                levels.append(_Level(self._thread, name, _ABSENT))
            levels[-1].value = value
            changed = self._reassign(levels[-1])
        if changed:
            self._notify()

    def _reassign(self, level: _Level) -> bool:
        """Updates the thread of the level; True if that is this thread and its value changed."""
        changed = self._shared.assign(level.thread, level.name)
        if level.thread is self._thread:
            _native.config_changed_here()
            return changed
        _native.config_changed()
        return False

    def _notify(self) -> None:
        for callback in tuple(self._shared.callbacks):
            callback()


def _flag(name: str) -> Flag:
    flag = BY_NAME.get(name) or BY_NAME.get(SHORT.get(name, ""))
    if flag is None:
        raise unknown(name, BY_NAME)
    return flag


def _check_changeable(flag: Flag, value: Any, now: Any) -> None:
    if flag.fixed and value != now:
        raise ValueError(f"flag {flag.name} is read when numjet is imported, and was {now!r}; set "
                         f"{flag.environment[0]}={value} in the environment instead")


config = Config(_Shared(os.environ))


def cache_home() -> str | None:
    """The folder in which this platform's programs keep caches; None for a user without a home."""
    named = os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME", "")
    if os.path.isabs(named):
        return named
    home = os.path.expanduser("~")
    if not os.path.isabs(home):
        return None
    return os.path.join(home, "Library", "Caches") if sys.platform == "darwin" else os.path.join(home, ".cache")


class Override(contextlib.ContextDecorator):
    """Context manager and decorator: a flag's value for one block in one thread. Reentrant, and shareable between threads."""

    __slots__ = ("_levels", "_name", "_value")

    def __init__(self, name: str, value: Any):
        self._name = name
        self._value = value
        self._levels: list[_Level] = []

    def _recreate_cm(self) -> Override:
        """Each call of a decorated function is a block of its own."""
        return Override(self._name, self._value)

    def begin(self, steps: list[Any]) -> None:
        """Begins a block, which `end(steps)` ends, with the same list, from wherever this was left half-way."""
        level = _Level(config._thread, self._name, self._value)
        steps.append(level)
        self._levels.append(level)
        config._enter(level)

    def end(self, steps: list[Any]) -> None:
        """Ends a block. May be called again with the same list, as a signal handler may raise anywhere."""
        if not steps:
            own = [level for level in self._levels if level.thread is config._thread]
            steps.append((own or self._levels)[-1])  # a generator may be closed by another thread
        config._exit(steps[0])
        if steps[0] in self._levels:
            self._levels.remove(steps[0])

    __enter__, __exit__ = _native.block_methods(begin, end)


_REQUIRED = object()


class Setting:
    """The callable facade of one flag: `with setting(value): ...`, `setting.value`, `setting.set_global(v)`."""

    def __init__(self, name: str, default: Any = _REQUIRED, keyword: str = "new_val"):
        self.flag = BY_NAME[name]
        self._default, self._keyword, self.__name__ = default, keyword, self.flag.stem
        self.__doc__ = f"Context manager for this thread: {self.flag.doc} (flag {name})"

    def __call__(self, new_val: Any = _REQUIRED, **named: Any) -> Override:
        if self._keyword in named and new_val is _REQUIRED:
            new_val = named.pop(self._keyword)
        if named:
            raise TypeError(f"{self.flag.stem}() takes the value to hold inside the block, got {sorted(named)}")
        if new_val is _REQUIRED:
            new_val = self._default
        if new_val is _REQUIRED:
            raise TypeError(f"{self.flag.stem}() needs the value for the block, such as {self.flag.stem}({self.value!r})")
        return Override(self.flag.name, self.flag.convert(new_val))

    @property
    def value(self) -> Any:
        """The value in this thread."""
        return config.__dict__[self.flag.name]

    def get_global(self) -> Any:
        """The value of the process, which blocks of this thread may override."""
        return config._shared.values[self.flag.name]

    def set_global(self, value: Any) -> None:
        """`config.update` of this flag."""
        config.update(self.flag.name, value)

    def set_local(self, value: Any) -> None:
        """Overrides the value in this thread from now on."""
        config._set_local(self.flag.name, self.flag.convert(value))

    def clear_local(self) -> None:
        """Ends this thread's override."""
        config._set_local(self.flag.name, _ABSENT)

    def __repr__(self) -> str:
        return f"<{self.flag.name}={self.value!r}>"

    def __bool__(self) -> bool:
        raise TypeError(f"a setting has no truth value: write config.{self.flag.name}, or use it as a context manager")


enable_x64 = Setting("jax_enable_x64", True)
numpy_rank_promotion = Setting("jax_numpy_rank_promotion")
numpy_dtype_promotion = Setting("jax_numpy_dtype_promotion")
default_matmul_precision = Setting("jax_default_matmul_precision")
default_prng_impl = Setting("jax_default_prng_impl")
threefry_partitionable = Setting("jax_threefry_partitionable", True)
enable_custom_prng = Setting("jax_enable_custom_prng", True)
legacy_prng_key = Setting("jax_legacy_prng_key")
softmax_custom_jvp = Setting("jax_softmax_custom_jvp", True)
auto_pcast = Setting("jax_auto_pcast", True)
remove_size_one_mesh_axis_from_type = Setting("jax_remove_size_one_mesh_axis_from_type", True)
default_device = Setting("jax_default_device")
disable_jit = Setting("jax_disable_jit", True, "disable")
array_garbage_collection_guard = Setting("jax_array_garbage_collection_guard")
transfer_guard = Setting("jax_transfer_guard")
transfer_guard_host_to_device = Setting("jax_transfer_guard_host_to_device")
transfer_guard_device_to_device = Setting("jax_transfer_guard_device_to_device")
transfer_guard_device_to_host = Setting("jax_transfer_guard_device_to_host")
debug_nans = Setting("jax_debug_nans", True)
debug_infs = Setting("jax_debug_infs", True)
debug_key_reuse = Setting("jax_debug_key_reuse", True)
check_tracer_leaks = Setting("jax_check_tracer_leaks", True)
checking_leaks = check_tracer_leaks
enable_checks = Setting("jax_enable_checks", True)
no_tracing = Setting("jax_no_tracing", True)
no_execution = Setting("jax_no_execution", True)
allow_f16_reductions = Setting("jax_allow_f16_reductions")
explicit_x64_dtypes = Setting("jax_explicit_x64_dtypes")
log_compiles = Setting("jax_log_compiles", True)
explain_cache_misses = Setting("jax_explain_cache_misses", True)
index_checks = Setting("numjet_index_checks", "all")
traceback_filtering = Setting("jax_traceback_filtering")
mesh_in_use = Setting("numjet_mesh")
mesh_names_only = Setting("numjet_mesh_names_only", True)
