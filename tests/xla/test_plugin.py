"""Loading jaxlib: what is missing, of another version, or broken says what to do."""
import sys

import pytest

from numjet.xla import plugin


def test_without_jaxlib_the_extras_are_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "jaxlib.xla_client", None)
    with pytest.raises(RuntimeError, match=r"jaxlib, which is not installed: pip install 'numjet\[xla\]'.*'numjet\[cuda\]'"):
        plugin.library.__wrapped__()


@pytest.mark.parametrize("version", ["0.4.30", "0.7.2", "0.11.0", "1.0"])
def test_other_versions_of_jaxlib_are_refused(monkeypatch, version):
    monkeypatch.setattr("jaxlib.version.__version__", version)
    with pytest.raises(RuntimeError, match=rf"needs jaxlib >= 0.8, < 0.11, found jaxlib {version}: pip install"):
        plugin.library.__wrapped__()


def test_a_platform_without_its_plugin_names_the_extra():
    text = r"Unknown backend: 'gpu' requested, but it is not installed: pip install 'numjet\[cuda\]'"
    with pytest.raises(RuntimeError, match=text):
        plugin._client.__wrapped__("gpu")


def test_a_plugin_that_does_not_start_tells_why(monkeypatch, tmp_path):
    broken = tmp_path / "xla_cuda_plugin.so"
    broken.write_bytes(b"no library")
    monkeypatch.setattr(plugin, "_cuda_library", lambda: broken)
    with pytest.raises(RuntimeError, match="Backend 'gpu' could not be started: "):
        plugin._client.__wrapped__("gpu")


def test_the_extras_name_the_versions():
    """All of them for CPUs; those of plugins for accelerators, which are of one version each, are the newest."""
    text = (plugin.Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf8")
    oldest, below = (".".join(map(str, v)) for v in (plugin.OLDEST, plugin.BELOW))
    assert f'xla = ["jaxlib>={oldest},<{below}"]' in text and text.count(f"jaxlib>=0.10,<{below}") == 2
