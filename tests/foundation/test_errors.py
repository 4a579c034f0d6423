import doctest
import inspect
import pathlib
import pickle
import re

import pytest

import numjet.errors
from numjet.foundation import errors

PAGES = pathlib.Path(__file__).parents[2] / "docs" / "errors"
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
PRIVATE_IN_JAX = {  # raised there, too, or its bases are
    "DeletedArrayError": (RuntimeError, ValueError),
    "ShapeMismatchError": (TypeError, ValueError),
    "ShardingTypeError": (Exception,),
    "TypePromotionError": (ValueError,),
}
PUBLIC = BASES | PRIVATE_IN_JAX
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


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_bases(name):
    cls = getattr(numjet.errors, name)
    assert cls is getattr(errors, name)
    for base in PUBLIC[name]:
        assert issubclass(cls, base)
    assert inspect.getdoc(cls)


def test_public_names_are_jax_s_and_those_of_what_it_raises():
    found = {name: value for name, value in vars(numjet.errors).items() if isinstance(value, type)}
    assert set(found) == set(PUBLIC)
    assert {value.__module__ for value in found.values()} == {"numjet.errors"}


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
    assert "The function being traced when the value leaked was f at file.py:1." in text
    assert "The leaked intermediate value was created on line 3 of file.py (f)." in text
    assert "checking_leaks" in text and "Return every value" in text
    assert "when the value leaked was f." in str(errors.UnexpectedTracerError(Bare(), traced="f"))
    assert "was created on" not in str(errors.UnexpectedTracerError(Bare()))
    assert str(errors.UnexpectedTracerError("as it is")).startswith("as it is\n\nExamples and remedies: ")


@pytest.mark.parametrize("name", sorted(BASES))
def test_errors_name_the_page_that_explains_them(name):
    kind = getattr(errors, name)
    text = str(pickle.loads(pickle.dumps(kind.__new__(kind, "text"))))
    own, _, other = text.partition("\nJAX's page on it is ")
    assert own.endswith(f"\n\nExamples and remedies: `python -m numjet error {name}` (docs/errors/{name}.md)")
    assert other == (f"https://docs.jax.dev/en/latest/errors.html#jax.errors.{name}" if kind.in_jax_docs else "")
    assert text.count("Examples and remedies") == 1 and (PAGES / f"{name}.md").exists()


def shown(page: str) -> str:
    """What the page says the message to be."""
    return re.search(r"^## What the message says\n+```text\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)[1]


def raised(page: str) -> BaseException:
    """What the first example of a page raises."""
    test = doctest.DocTestParser().get_doctest(re.search(r"```python\n(.*?)```", page, re.DOTALL)[1], {}, "page", None, 0)
    *before, last = test.examples
    for example in before:
        exec(compile(example.source, "page", "single"), test.globs)
    with pytest.raises(Exception) as caught:
        exec(compile(last.source, "page", "single"), test.globs)
    return caught.value


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_the_example_of_a_page_raises_the_message_that_the_page_shows(name):
    page = (PAGES / f"{name}.md").read_text(encoding="utf8")
    error, words = raised(page), " ".join(shown(page).split())
    assert isinstance(error, getattr(errors, name))
    assert re.search(".*".join(map(re.escape, words.split("..."))), " ".join(str(error).split()))


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_each_page_says_when_shows_how_and_what_to_do(name):
    page = (PAGES / f"{name}.md").read_text(encoding="utf8")
    head, *sections = page.split("\n## ")
    assert head.startswith(f"# {name}\n") and "Traceback (most recent call last)" in head
    assert [section.split("\n")[0] for section in sections] == ["What the message says", "Remedies"]
    assert "```python" in sections[1]


def test_describe_falls_back_to_what_the_type_says_of_itself():
    class Odd:
        aval = "some token"

    assert errors.describe(Odd()) == "traced array with shape some token"
    assert errors.describe(3) == "value 3"
