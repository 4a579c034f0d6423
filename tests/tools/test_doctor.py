"""The report of an installation, and checks that fail."""
import pytest

from numjet.tools import doctor


def test_a_sound_installation(capsys):
    assert doctor.main([]) == 0
    printed = capsys.readouterr().out
    assert "FAILED" not in printed
    for part in ("Versions", "numjet", "llvmlite", "Machine", "threads", "Devices", "Flags", "Self-test", *doctor.CHECKS):
        assert part in printed


@pytest.mark.parametrize("check, text", [(lambda: False, "FAILED: wrong result"), (lambda: 1 / 0, "FAILED: ZeroDivisionError")])
def test_a_failing_check_is_said_and_makes_the_status_1(check, text, capsys, monkeypatch):
    monkeypatch.setattr(doctor, "CHECKS", {"broken": check})
    assert doctor.main([]) == 1
    assert text in capsys.readouterr().out


def test_a_missing_package_says_what_to_install(capsys, monkeypatch):
    monkeypatch.setattr(doctor, "PACKAGES", ("no-such-package",))
    assert [row.value for row in doctor.versions() if row.name == "no-such-package"] == ["missing: pip install no-such-package"]


def test_flags_that_were_changed_are_listed():
    with doctor.nj.debug_nans(True):
        assert doctor.Row("jax_debug_nans", "True") in list(doctor.changed_flags())
