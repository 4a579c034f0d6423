"""`python -m numjet error`: a page for every class, the list, unknown names."""
import numjet.errors
from numjet.tools import error

CLASSES = {name for name, value in vars(numjet.errors).items() if isinstance(value, type)}


def test_every_class_has_a_page_and_no_page_is_left_over():
    assert set(error.pages()) == CLASSES


def test_a_page_is_printed(capsys):
    assert error.main(["numjet.errors.KeyReuseError"]) == 0
    assert capsys.readouterr().out.startswith("# KeyReuseError\n")


def test_without_a_name_the_list(capsys):
    assert error.main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert {line.split()[0] for line in lines} == CLASSES
    assert "KeyReuseError With `debug_key_reuse` on, a random key was used twice" in [" ".join(line.split()) for line in lines]


def test_an_unknown_name_tells_the_nearest(capsys):
    assert error.main(["TracerBoolError"]) == 2
    assert "Did you mean TracerBoolConversionError?" in capsys.readouterr().err


def test_an_installation_without_pages_says_so(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(error, "CHECKOUT", tmp_path / "none")
    monkeypatch.setattr(error, "INSTALLED", tmp_path)
    assert error.main([]) == 1 and "has no pages of errors" in capsys.readouterr().err
