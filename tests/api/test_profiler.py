"""Profiles: what a timeline holds, errors of starting and stopping, snapshots of memory, refused servers."""
import gzip
import json
from pathlib import Path

import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import profiler


def timeline(folder, name="*.trace.json.gz"):
    file, = Path(folder).glob(f"plugins/profile/*/{name}")
    return json.loads(gzip.decompress(file.read_bytes()))["traceEvents"]


def test_timeline(tmp_path):
    @profiler.annotate_function
    def load():
        return 1

    def fresh(x):
        return x * 3 + 1
    with profiler.trace(tmp_path, create_perfetto_trace=True):
        with profiler.TraceAnnotation("outer", size=3):
            load()
            nj.jit(fresh)(jnp.ones(7))
        with pytest.raises(RuntimeError, match="already been started"):
            profiler.start_trace(tmp_path)
        for n in range(2):
            with profiler.StepTraceAnnotation("train", step_num=n):
                profiler.annotate_function(load, name="other", key=n)()
    load()
    found = {e["name"]: e for e in timeline(tmp_path)}
    assert {"outer", "train", "other", "trace fresh", "compile fresh"} <= set(found)
    outer, compile_ = found["outer"], found["compile fresh"]
    assert outer["args"] == {"size": 3} and found["train"]["args"] == {"step": True, "step_num": 1}
    assert outer["ts"] <= compile_["ts"] and compile_["ts"] + compile_["dur"] <= outer["ts"] + outer["dur"]
    assert sum(e["name"].endswith("load") for e in timeline(tmp_path)) == 3
    assert timeline(tmp_path, "perfetto_trace.json.gz") == timeline(tmp_path)


@pytest.mark.parametrize(("level", "names"), [(0, set()), (1, {"mine"}), (2, {"mine", "trace fresh", "compile fresh"})])
def test_options_say_what_a_trace_shows(tmp_path, level, names):
    def fresh(x):
        return x * 5 + level
    options = profiler.ProfileOptions()
    options.host_tracer_level, options.session_id = level, "here"
    options.advanced_configuration = {"tpu_trace_mode": "TRACE_ONLY_HOST"}
    with profiler.trace(tmp_path, profiler_options=options), profiler.TraceAnnotation("mine") as mine:
        mine.set_metadata(size=3)
        assert profiler.TraceAnnotation.is_enabled()
        nj.jit(fresh)(jnp.ones(7))
    assert not profiler.TraceAnnotation.is_enabled() and (tmp_path / "plugins" / "profile" / "here").is_dir()
    found = {e["name"]: e for e in timeline(tmp_path)}
    assert names == {"mine", "trace fresh", "compile fresh"} & set(found) and (level or not found)
    assert level == 0 or found["mine"]["args"] == {"size": 3}


def test_options_have_types(tmp_path):
    options = profiler.ProfileOptions()
    assert (options.python_tracer_level, options.enable_hlo_proto, options.advanced_configuration) == (1, True, {})
    with pytest.raises(TypeError, match="python_tracer_level must be of type int"):
        options.python_tracer_level = "all"
    with pytest.raises(TypeError, match=r"must be a jax\.profiler.ProfileOptions"):
        profiler.start_trace(tmp_path, profiler_options=1)
    assert profiler.ProfileOptions().advanced_configuration is not options.advanced_configuration


def test_a_trace_ends_with_its_block(tmp_path):
    with pytest.raises(ZeroDivisionError), profiler.trace(tmp_path), profiler.TraceAnnotation("fails"):
        1 / 0  # noqa: B018
    assert [e["name"] for e in timeline(tmp_path)] == ["fails"]
    with pytest.raises(RuntimeError, match="No profile started"):
        profiler.stop_trace()


def strings(profile):
    """The string table of a profile, and its samples as (kind, count, bytes)."""
    data, at, fields = gzip.decompress(profile), 0, []

    def varint(data, at):
        n = shift = 0
        while True:
            n, shift, at = n | (data[at] & 0x7F) << shift, shift + 7, at + 1
            if data[at - 1] < 0x80:
                return n, at
    while at < len(data):
        key, at = varint(data, at)
        size, at = varint(data, at)
        fields.append((key >> 3, data[at:at + size]))
        at += size
    table = [content.decode() for field, content in fields if field == 6]
    samples = {}
    for field, content in fields:
        if field == 2:
            n, (count, after) = content[2], varint(content, 5)
            samples[table[4 + n]] = count, varint(content, after)[0]
    return samples


def test_memory_profile(tmp_path):
    kept = [jnp.ones((3, 1001)) for _ in range(5)]
    profiler.save_device_memory_profile(tmp_path / "memory.prof")
    assert strings((tmp_path / "memory.prof").read_bytes())["float32[3,1001] on cpu:0"] == (5, 5 * kept[0].nbytes)
    assert strings(profiler.device_memory_profile("cpu"))["float32[3,1001] on cpu:0"][0] == 5


def test_what_is_refused(tmp_path):
    for refuse, message in [
            (lambda: profiler.start_server(9999), "no profiler server"),
            (lambda: profiler.register_subprocess(1, 9999), "does not have"),
            (lambda: profiler.start_trace(tmp_path, create_perfetto_link=True), "create_perfetto_trace=True"),
            ]:
        with pytest.raises(NotImplementedError, match=message):
            refuse()
    with pytest.raises(ValueError, match="No active profiler server"):
        profiler.stop_server()
