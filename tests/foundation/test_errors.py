import inspect
import pathlib
import pickle

import pytest

import numjet.errors
from numjet.foundation import errors

BASES = {  # as jax.errors has them
    "ConcretizationTypeError": (errors.JAXTypeError, TypeError),
    "InconclusiveDimensionOperation": (Exception,),
    "JAXIndexError": (IndexError,),
    "JAXTypeError": (TypeError,),
    "JaxRuntimeError": (RuntimeError,),
    "JaxprTypeError": (TypeError,),
    "KeyReuseError": (errors.JAXTypeError, TypeError),
    "NonConcreteBooleanIndexError": (errors.JAXIndexError, IndexError),
    "TracerArrayConversionError": (errors.JAXTypeError, TypeError),
    "TracerBoolConversionError": (errors.ConcretizationTypeError, errors.JAXTypeError, TypeError),
    "TracerIntegerConversionError": (errors.JAXTypeError, TypeError),
    "UnexpectedTracerError": (errors.JAXTypeError, TypeError),
}
FROM_TRACER = [
    errors.ConcretizationTypeError,
    errors.TracerBoolConversionError,
    errors.TracerArrayConversionError,
    errors.TracerIntegerConversionError,
    errors.NonConcreteBooleanIndexError,
]
ORIGIN = "The value was not available because it depends on the value of the argument neg (line 12 of file.py)"


class Dtype:
    name = "bool"


class Aval:
    shape = (3, 2)
    dtype = Dtype


class Bare:
    aval = Aval


class Told(Bare):
    def _origin_text(self):
        return ORIGIN


@pytest.mark.parametrize("name", sorted(BASES))
def test_bases(name):
    cls = getattr(numjet.errors, name)
    assert cls is getattr(errors, name)
    for base in BASES[name]:
        assert issubclass(cls, base)
    assert inspect.getdoc(cls)


def test_public_names_are_exactly_jax_s():
    assert {name for name, value in vars(numjet.errors).items() if isinstance(value, type)} == set(BASES)


@pytest.mark.parametrize("cls", FROM_TRACER)
def test_text_names_the_value_its_argument_and_a_remedy(cls):
    text = str(cls(Told()))
    assert "bool[3,2]" in text
    assert f"{ORIGIN}." in text and ".." not in text.replace("...", "")
    assert "Remedies" in text or "Instead of" in text


@pytest.mark.parametrize("cls", FROM_TRACER)
def test_text_without_an_account_of_the_origin(cls):
    assert "not known while the function is traced" in str(cls(Bare()))


def test_branch_error_shows_the_ways_out():
    text = str(errors.TracerBoolConversionError(Told()))
    for remedy in ("static_argnums", "lax.cond", "jnp.where", "numpy.where", "if x > 0:"):
        assert remedy in text


@pytest.mark.parametrize(
    "cls, remedies",
    [
        (errors.TracerArrayConversionError, ("numjet.numpy", "static_argnums", "pure_callback", "__array__")),
        (errors.TracerIntegerConversionError, ("fori_loop", "static_argnums", "__index__")),
        (errors.NonConcreteBooleanIndexError, ("jnp.where", "size=", ".at[mask]")),
    ],
)
def test_remedies(cls, remedies):
    text = str(cls(Told()))
    assert all(remedy in text for remedy in remedies)


def test_context_of_a_concretization():
    assert "`int` was called" in str(errors.ConcretizationTypeError(Bare(), "`int` was called here."))


def test_leak_tells_where():
    text = str(errors.UnexpectedTracerError(Bare(), created="line 3 of file.py (f)", traced="f at file.py:1"))
    assert "It was created on line 3 of file.py (f) while f at file.py:1 was being traced." in text
    assert "checking_leaks" in text and "Return every value" in text
    assert "It was created while f" in str(errors.UnexpectedTracerError(Bare(), traced="f"))
    assert "It was created" not in str(errors.UnexpectedTracerError(Bare()))
    assert str(errors.UnexpectedTracerError("as it is")).startswith("as it is\n\nSee UnexpectedTracerError in docs/")


@pytest.mark.parametrize("error", [errors.TracerBoolConversionError, errors.NonConcreteBooleanIndexError, errors.KeyReuseError])
def test_errors_name_the_page_that_explains_them(error):
    text = str(pickle.loads(pickle.dumps(error.__new__(error, "text"))))
    assert f"\n\nSee {error.__name__} in docs/errors.md" in text
    assert text.endswith(f"https://docs.jax.dev/en/latest/errors.html#jax.errors.{error.__name__}")
    assert text.count("https://") == 1


@pytest.mark.parametrize("name", sorted(BASES))
def test_the_page_has_each_class_with_an_example_and_what_to_do(name):
    page = (pathlib.Path(__file__).parents[2] / "docs" / "errors.md").read_text(encoding="utf8")
    (section,) = [text for text in page.split("\n## ") if name in text.split("\n")[0].split()]
    assert section.count("```python") >= (2 if "Traceback" in section else 1)
    assert f"numjet.errors.{name}: " in section or f"nj.errors.{name}" in section


def test_describe_falls_back_to_what_the_type_says_of_itself():
    class Odd:
        aval = "some token"

    assert errors.describe(Odd()) == "traced array with shape some token"
    assert errors.describe(3) == "value 3"
