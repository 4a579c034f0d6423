"""Public errors, with the names and base classes of JAX's.

Errors about traced values take the traced value: an object with `.aval`, and optionally a method `_origin_text()` that
names the argument it depends on. Each message says what happened, to which value and where, and shows the wrong and the
right code.
"""

from __future__ import annotations

from typing import Any


def describe(tracer: Any) -> str:
    """`traced array with shape float32[3]`, from whatever has an aval."""
    if not hasattr(tracer, "aval"):
        return f"value {tracer!r}"
    return f"traced array with shape {_type_text(tracer.aval)}" if tracer.aval is not None else "traced value"


def _type_text(aval: Any) -> str:
    shape, dtype = getattr(aval, "shape", None), getattr(aval, "dtype", None)
    if shape is None or dtype is None:
        return str(aval)
    return f"{getattr(dtype, 'name', dtype)}[{','.join(map(str, shape))}]"


def origin(tracer: Any) -> str:
    """Why the value is unknown while tracing: the tracer's own explanation, or the general one."""
    own = getattr(tracer, "_origin_text", "")
    text = own() if callable(own) else own
    return (text or "Its value is not known while the function is traced, only its shape and dtype").rstrip(".") + "."


def compose(*parts: str) -> str:
    """A message of the paragraphs that are not empty."""
    return "\n\n".join(part.strip("\n") for part in parts if part and part.strip())


def snippet(wrong: str, right: str) -> str:
    """Code that fails, and the code that works instead."""

    def indent(text: str) -> str:
        return "\n".join(f"    {line}" for line in text.strip("\n").split("\n"))

    return f"Instead of\n\n{indent(wrong)}\n\nwrite\n\n{indent(right)}"


class _Documented(Exception):
    """Base of errors that have a page, docs/errors/NAME.md, which `python -m numjet error NAME` prints."""

    in_jax_docs = False  # whether JAX's documentation explains the class, too: people find it by that address

    def __str__(self) -> str:
        name = type(self).__name__
        also = f"\nJAX's page on it is https://docs.jax.dev/en/latest/errors.html#jax.errors.{name}" if self.in_jax_docs else ""
        return f"{super().__str__()}\n\nExamples and remedies: `python -m numjet error {name}` (docs/errors/{name}.md){also}"


class JAXTypeError(_Documented, TypeError):
    """A TypeError about traced values."""

    in_jax_docs = True


class JAXIndexError(_Documented, IndexError):
    """An IndexError about traced values."""

    in_jax_docs = True


class ConcretizationTypeError(JAXTypeError):
    """A traced value was used where Python needs a number: `float(x)`, a shape, a static argument.

    Args:
      tracer: the traced value.
      context: a sentence that says what needed the number.
    """

    def __init__(self, tracer: Any, context: str = ""):
        super().__init__(
            compose(
                f"Abstract tracer value encountered where concrete value is expected: {describe(tracer)}.",
                context,
                origin(tracer),
                "Remedies: mark the argument as static (`static_argnums` or `static_argnames` of jit), compute "
                "with arrays all the way (`x.astype(int)` instead of `int(x)`), or do this part outside of the "
                "transformed function.",
            )
        )


_BOOL_REMEDIES = """\
Remedies; choose the first that fits:
  - choose between two values:      jnp.where(condition, a, b)   (numjet.numpy.where)
  - choose between two computations: lax.cond(condition, true_fun, false_fun, *operands)
  - loop until a condition fails:   lax.while_loop(cond_fun, body_fun, init)
  - `and`, `or`, `not` on arrays:   jnp.logical_and, jnp.logical_or, jnp.logical_not  (or &, |, ~)
  - the condition depends only on settings: make that argument static,
    jit(f, static_argnums=...) or jit(f, static_argnames=...)"""


class TracerBoolConversionError(ConcretizationTypeError):
    """A traced value was used as a Python condition: `if x > 0`, `while`, `and`, `assert`, `bool(x)`."""

    def __init__(self, tracer: Any):
        JAXTypeError.__init__(
            self,
            compose(
                f"Attempted boolean conversion of {describe(tracer)}. Python cannot branch on it: its truth value is not "
                "known yet.",
                origin(tracer),
                _BOOL_REMEDIES,
                snippet("if x > 0:\n    y = a\nelse:\n    y = b", "y = jnp.where(x > 0, a, b)"),
            ),
        )


def _without_numbers(tracer: Any) -> str:
    """Why NumPy does not get the numbers of a traced value."""
    value = getattr(tracer, "concrete", lambda: None)()
    if value is None:
        return "NumPy needs the numbers, and there are none yet"
    return "NumPy would drop its derivative. Where none is wanted, give NumPy lax.stop_gradient(x)"


class TracerArrayConversionError(JAXTypeError):
    """A traced value was passed to NumPy, which needs numbers: `numpy.asarray(x)`, the index of a NumPy array."""

    def __init__(self, tracer: Any):
        super().__init__(
            compose(
                f"The numpy.ndarray conversion method __array__() was called on {describe(tracer)}: "
                f"{_without_numbers(tracer)}.",
                origin(tracer),
                "Remedies: call the function of the same name in numjet.numpy; when the argument decides a shape "
                "or an index that must be known, make it static (`static_argnums` of jit); a function that only "
                "exists for NumPy arrays goes through `pure_callback`. Indexing a NumPy array with a traced value "
                "fails the same way: make it an array first, `jnp.asarray(table)[i]`.",
                snippet("y = np.asarray(x) + table[i]", "y = x + jnp.asarray(table)[i]"),
            )
        )


class TracerIntegerConversionError(JAXTypeError):
    """A traced value was used as a Python integer: as a list's index, in `range`, in a shape."""

    def __init__(self, tracer: Any):
        super().__init__(
            compose(
                f"The __index__() method was called on {describe(tracer)}: Python needs the integer itself.",
                origin(tracer),
                "Remedies: to index a list or NumPy array, make it an array first; to repeat, use lax.fori_loop; "
                "where the integer decides a shape, make the argument static (`static_argnums` of jit).",
                snippet("y = [a, b, c][i]\nfor _ in range(n): x = step(x)",
                        "y = jnp.stack([a, b, c])[i]\nx = lax.fori_loop(0, n, lambda _, x: step(x), x)"),
            )
        )


class NonConcreteBooleanIndexError(JAXIndexError):
    """A traced boolean array was used as an index, which makes the size of the result unknown."""

    def __init__(self, tracer: Any):
        super().__init__(
            compose(
                f"Array boolean indices must be concrete; got a {describe(tracer)}: how many elements it selects, and so "
                "the shape of the result, is not known yet.",
                origin(tracer),
                "Remedies: keep the shape and blank the others out with the three-argument `jnp.where`; give a size, "
                "`jnp.nonzero(mask, size=n, fill_value=...)`; assign with `x.at[mask].set(value)`; or pass "
                "`where=mask` to a reduction.",
                snippet("total = x[x > 0].sum()", "total = jnp.where(x > 0, x, 0).sum()"),
            )
        )


class UnexpectedTracerError(JAXTypeError):
    """A traced value outlived its function, through a global, a closure or an attribute.

    Args:
      msg: the whole text, or the value.
      created: where the value was made, for example "line 12 of file.py (f)".
      traced: the function that was being traced, in the same form.
    """

    def __init__(self, msg: Any, created: str = "", traced: str = ""):
        if isinstance(msg, str):
            super().__init__(msg)
            return
        tracer = msg
        super().__init__(
            compose(
                "Encountered an unexpected tracer. A function transformed by JAX had a side effect, allowing for a reference "
                f"to an intermediate value ({describe(tracer)}) to escape the scope of the transformation.",
                f"The function being traced when the value leaked was {traced}." if traced else "",
                f"The leaked intermediate value was created on {created}." if created else "",
                "Transformed functions run once to be recorded, and must not save intermediate values to global state: what "
                "they leave in globals, closures or attributes is a placeholder, not a number. Return every value that is "
                "needed outside. To find the leak, run "
                "within `checking_leaks()` or with JAX_CHECK_TRACER_LEAKS=1.",
                snippet("log = []\n@jit\ndef f(x):\n    log.append(x)\n    return x + 1",
                        "@jit\ndef f(x):\n    return x + 1, x"),
            )
        )


class KeyReuseError(JAXTypeError):
    """A random key was used twice, so that two draws are not independent."""


class JaxprTypeError(_Documented, TypeError):
    """The types of a program are inconsistent."""


class JaxRuntimeError(_Documented, RuntimeError):
    """A compiled program or a device failed while running."""


class InconclusiveDimensionOperation(_Documented):
    """A comparison of symbolic dimensions has different results for different sizes."""


class DeletedArrayError(RuntimeError, ValueError):
    """An array that has no value: it was deleted, or donated to a call. A RuntimeError as where JAX looks at an array, a
    ValueError as where it passes one to a compiled program."""


class ShapeMismatchError(TypeError, ValueError):
    """Shapes that do not go together: a TypeError as in JAX, a ValueError as in NumPy, whichever a program expects."""


class ShardingTypeError(Exception):
    """Types of operands, which say how these are divided along Explicit axes of a mesh, do not tell how a result is."""


class TypePromotionError(ValueError):
    """Two dtypes have no common dtype for an implicit conversion."""


for _error in (ConcretizationTypeError, DeletedArrayError, InconclusiveDimensionOperation, JAXIndexError, JaxprTypeError,
               JaxRuntimeError, JAXTypeError, KeyReuseError, NonConcreteBooleanIndexError, ShapeMismatchError,
               ShardingTypeError, TracerArrayConversionError, TracerBoolConversionError, TracerIntegerConversionError,
               TypePromotionError, UnexpectedTracerError):
    _error.__module__ = "numjet.errors"  # where users find them: the name in tracebacks
