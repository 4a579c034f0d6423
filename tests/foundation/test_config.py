import logging
import subprocess
import sys
import threading

import numpy as np
import pytest

from numjet.api.sharding.mesh import make_mesh
from numjet.foundation import config as module
from numjet.foundation.config import Config, config, enable_x64, numpy_rank_promotion
from numjet.foundation.flags import BY_NAME, FLAGS, PLATFORMS, SHORT
from numjet.runtime import backends


def fresh(**environ):
    return Config(module._Shared(environ))


@pytest.mark.parametrize("flag", FLAGS, ids=lambda flag: flag.name)
def test_every_flag_reads_by_each_of_its_names_and_accepts_its_default(flag):
    conf = fresh()
    assert flag.convert(flag.default) == flag.default
    for name in [flag.name, *(short for short, full in SHORT.items() if full == flag.name)]:
        assert getattr(conf, name) == flag.default
        assert conf.read(name) == flag.default
    assert flag.doc.endswith(".")


def test_defaults_are_jax_s():
    conf = fresh()
    assert conf.jax_enable_x64 is False
    assert conf.jax_threefry_partitionable is True
    assert conf.jax_numpy_rank_promotion == "allow"
    assert conf.jax_numpy_dtype_promotion == "standard"
    assert conf.jax_default_matmul_precision is None
    assert conf.jax_default_prng_impl == "threefry2x32"


@pytest.mark.parametrize("text, value", [("1", True), ("true", True), ("on", True), ("0", False), ("False", False)])
def test_environment_sets_bools(text, value):
    assert fresh(JAX_ENABLE_X64=text).x64 is value
    assert fresh(NUMJET_ENABLE_X64=text).x64 is value


def test_own_environment_variable_wins_over_jax_s():
    assert fresh(JAX_ENABLE_X64="1", NUMJET_ENABLE_X64="0").x64 is False


def test_own_flags_have_no_jax_variable():
    assert fresh(NUMJET_DUMP="/x", NUMJET_NUM_THREADS="3").numjet_num_threads == 3
    assert fresh(JAX_DUMP="/x").numjet_dump is None
    assert fresh(NUMJET_DUMP="").numjet_dump is None


def test_wrong_environment_value_names_the_variable():
    with pytest.raises(ValueError, match=r"JAX_ENABLE_X64='maybe'.*expected a bool"):
        fresh(JAX_ENABLE_X64="maybe")


def test_update_accepts_short_names_and_reads_back_under_all():
    conf = fresh()
    conf.update("x64", True)
    assert conf.jax_enable_x64 is conf.enable_x64 is conf.x64 is True
    assert conf.values["jax_enable_x64"] is True


def test_unknown_names_raise_with_near_matches():
    conf = fresh()
    with pytest.raises(AttributeError, match=r"jax_enable_x46.*Did you mean jax_enable_x64"):
        conf.update("jax_enable_x46", True)
    with pytest.raises(AttributeError, match=r"jax_debug_nan'.*jax_debug_nans"):
        _ = conf.jax_debug_nan
    with pytest.raises(AttributeError, match="zzzz"):
        conf.read("zzzz")
    with pytest.raises(AttributeError):
        conf.zzzz = 1


def test_assignment_tells_to_update():
    with pytest.raises(AttributeError, match=r"config.update\('jax_enable_x64', True\)"):
        config.x64 = True
    assert config.x64 is False


@pytest.mark.parametrize(
    "name, value",
    [
        ("jax_enable_x64", "maybe"),
        ("jax_enable_x64", None),
        ("jax_enable_x64", 2),
        ("jax_numpy_rank_promotion", "maybe"),
        ("jax_default_matmul_precision", "sloppy"),
        ("jax_default_device", 3),
        ("numjet_num_threads", "many"),
        ("jax_platforms", 1),
    ],
)
def test_wrong_values_raise_and_change_nothing(name, value):
    conf = fresh()
    before, token = conf.values, conf.token
    with pytest.raises(ValueError, match=name):
        conf.update(name, value)
    assert conf.values == before
    assert conf.token is token


def test_context_managers_nest_and_restore():
    assert config.x64 is False
    with enable_x64():
        assert config.x64 is True
        with enable_x64(False):
            assert config.x64 is False
        assert config.x64 is True
    assert config.x64 is False


def test_context_manager_restores_after_an_error_and_can_be_entered_again():
    override = enable_x64(True)
    for _ in range(2):
        with pytest.raises(KeyError), override:
            assert config.x64
            raise KeyError
        assert not config.x64
    with override, override:
        assert config.x64
    assert not config.x64


def test_override_decorates():
    @numpy_rank_promotion("raise")
    def inside():
        return config.numpy_rank_promotion

    assert inside() == "raise"
    assert config.numpy_rank_promotion == "allow"


def test_settings_without_default_need_a_value():
    with pytest.raises(TypeError, match="needs the value"):
        numpy_rank_promotion()
    with pytest.raises(ValueError, match="jax_numpy_rank_promotion"):
        numpy_rank_promotion("maybe")


def test_settings_have_no_truth_value():
    with pytest.raises(TypeError, match=r"config\.jax_enable_x64"):
        bool(enable_x64)


def test_every_setting_overrides_its_own_flag():
    samples = {"jax_default_device": "cpu", "jax_default_matmul_precision": "high", "jax_transfer_guard": "log"}
    samples |= {"jax_array_garbage_collection_guard": "log"}
    samples |= {f"jax_transfer_guard_{way}": "log" for way in ("host_to_device", "device_to_device", "device_to_host")}
    samples |= {"jax_numpy_rank_promotion": "warn", "jax_numpy_dtype_promotion": "strict"}
    samples |= {"jax_default_prng_impl": "rbg", "jax_legacy_prng_key": "warn", "jax_traceback_filtering": "off"}
    samples |= {"numjet_mesh": make_mesh((1,), ("x",))}
    samples |= {"jax_explicit_x64_dtypes": "error", "numjet_index_checks": "all"}
    settings = {id(one): one for one in vars(module).values() if isinstance(one, module.Setting)}
    assert len(settings) >= 18
    for setting in settings.values():
        name = setting.flag.name
        before = config.read(name)
        value = samples.get(name, not before)
        with setting(value):
            assert config.read(name) == setting.value == value
        assert config.read(name) == before


def test_local_and_global_setters():
    enable_x64.set_local(True)
    try:
        assert config.x64 is True
        enable_x64.set_global(False)
        assert config.x64 is True
    finally:
        enable_x64.clear_local()
    assert config.x64 is False


def in_thread(function):
    result = []
    thread = threading.Thread(target=lambda: result.append(function()))
    thread.start()
    thread.join()
    return result[0]


def test_overrides_stay_in_their_thread():
    with enable_x64(True):
        assert in_thread(lambda: config.x64) is False


def test_updates_reach_running_threads_unless_overridden():
    ready, go, seen = threading.Barrier(3), threading.Event(), {}

    def plain():
        _ = config.debug_nans
        ready.wait()
        go.wait()
        seen["plain"] = (config.debug_nans, config.token)

    def overriding():
        with module.debug_nans(False):
            ready.wait()
            go.wait()
            seen["inside"] = config.debug_nans
        seen["after"] = config.debug_nans

    threads = [threading.Thread(target=plain), threading.Thread(target=overriding)]
    for thread in threads:
        thread.start()
    ready.wait()
    config.update("jax_debug_nans", True)
    try:
        go.set()
        for thread in threads:
            thread.join()
        assert seen["plain"] == (True, config.token)
        assert seen["inside"] is False
        assert seen["after"] is True
        assert in_thread(lambda: config.debug_nans) is True
    finally:
        config.update("jax_debug_nans", False)


def test_trace_token_is_the_same_exactly_for_the_same_values():
    base = config.trace_token()
    assert base is config.token
    with enable_x64(True):
        wide = config.trace_token()
        assert wide is not base
        with enable_x64(False):
            assert config.trace_token() is base
    with enable_x64(True):
        assert config.trace_token() is wide
    assert config.trace_token() is base
    assert in_thread(config.trace_token) is base
    assert "jax_enable_x64=True" in repr(wide)


def test_flags_that_do_not_change_programs_leave_the_token():
    base = config.token
    strings = {"numjet_tiers": "one", "jax_logging_level": "INFO", "jax_array_garbage_collection_guard": "log"}
    for flag in FLAGS:
        other = {bool: True, str: strings.get(flag.name, "off"), int: 7}.get(type(flag.default))
        if other is None or flag.traces or flag.fixed or flag.inert or other == flag.default:
            continue
        if flag.parse(other) == other and flag.name != "jax_transfer_guard":
            with module.Override(flag.name, other):
                assert config.token is base
    for name in ("jax_log_compiles", "jax_explain_cache_misses", "numjet_dump", "jax_compilation_cache_dir"):
        assert not BY_NAME[name].traces


@pytest.mark.parametrize("flag", [flag for flag in FLAGS if flag.traces], ids=lambda flag: flag.name)
def test_every_traced_flag_changes_the_token(flag):
    samples = {"jax_numpy_rank_promotion": "warn", "jax_numpy_dtype_promotion": "strict"}
    samples |= {"jax_default_matmul_precision": "high", "jax_default_prng_impl": "rbg", "jax_default_device": "cpu"}
    samples |= {"jax_random_seed_offset": 5, "jax_legacy_prng_key": "error"}
    value = samples.get(flag.name, not config.read(flag.name))
    base = config.token
    with module.Override(flag.name, value):
        assert config.token is not base
    assert config.token is base


def test_callbacks_run_where_values_change_and_only_then():
    calls = []
    stop = config.on_change(lambda: calls.append(threading.get_ident()))
    try:
        with enable_x64(False):
            pass
        assert calls == []
        with enable_x64(True):
            assert calls == [threading.get_ident()]
        assert len(calls) == 2
        config.update("jax_enable_x64", False)
        assert len(calls) == 2
        other = in_thread(lambda: (enable_x64(True).__enter__(), threading.get_ident())[1])
        assert calls[2:] == [other]
    finally:
        stop()
        stop()
    with enable_x64(True):
        pass
    assert len(calls) == 3


def test_devices_are_kept_as_objects():
    class Device:
        platform = "cpu"

    device = Device()
    with module.default_device(device):
        assert config.jax_default_device is device
    with pytest.raises(ValueError):
        module.default_device(np.zeros(2))


COMMAND_LINES = [
    (["--jax_enable_x64", "--jax_default_matmul_precision=highest", "other"], (True, "highest")),
    (["--nojax_enable_x64", "--jax_default_matmul_precision=high"], (False, "high")),
    (["--numjet_tiers=one", "--", "--jax_enable_x64"], (False, None)),
    (["--unknown", "jax_enable_x64"], (False, None)),
]
SHOW = "print(config.jax_enable_x64, config.jax_default_matmul_precision)"


@pytest.mark.parametrize("arguments, expected", COMMAND_LINES)
def test_flags_are_read_from_the_command_line(arguments, expected):
    program = f"from numjet.foundation.config import config; config.parse_flags_with_absl(); {SHOW}"
    done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True)
    assert done.stdout.split() == [str(v) for v in expected], done.stderr


def test_a_program_of_abseil_sets_flags_before_it_runs():
    program = ("from absl import app; from numjet.foundation.config import config; config.config_with_absl(); "
               "config.config_with_absl(); app.run(lambda rest: print(rest[1:], config.jax_enable_x64))")
    done = subprocess.run([sys.executable, "-c", program, "--jax_enable_x64", "more"], capture_output=True, text=True)
    assert done.stdout == "['more'] True\n", done.stderr


def test_a_value_on_the_command_line_that_a_flag_does_not_accept():
    program = "from numjet.foundation.config import config; config.parse_flags_with_absl()"
    done = subprocess.run([sys.executable, "-c", program, "--jax_numpy_rank_promotion=maybe"], capture_output=True, text=True)
    assert "ValueError: flag jax_numpy_rank_promotion: new enum value must be in ['allow', 'warn', 'raise']" in done.stderr


def test_the_environment_is_read_again_on_demand(monkeypatch):
    conf = fresh()
    conf.update("jax_debug_infs", True)
    monkeypatch.setenv("JAX_ENABLE_X64", "1")
    monkeypatch.setenv("NUMJET_INSTRUCTION_SET", "baseline")
    monkeypatch.setenv("XLA_FLAGS", "--other --xla_force_host_platform_device_count=4")
    conf.read_environment("jax_num_cpu_devices")
    assert (conf.num_cpu_devices, conf.x64) == (4, False)
    conf.read_environment()
    assert (conf.x64, conf.debug_infs, conf.instruction_set) == (True, True, "native")
    conf.update("jax_enable_x64", False)
    conf.read_environment()
    assert not conf.x64


def test_the_level_of_the_logger_follows_its_flag(capfd):
    logger, before = logging.getLogger("numjet"), len(logging.getLogger("numjet").handlers)
    config.update("jax_logging_level", "INFO")
    try:
        assert logger.level == logging.INFO
        logger.info("what happened")
        assert "INFO:" in (said := capfd.readouterr().err) and "what happened" in said
    finally:
        config.update("jax_logging_level", "NOTSET")
    assert logger.level == logging.NOTSET and len(logger.handlers) == before


def test_loggers_that_a_flag_names_show_lines_for_debugging(capfd):
    config.update("jax_debug_log_modules", "mine.first, mine.second")
    try:
        for name in ("first", "second", "third"):
            logging.getLogger(f"mine.{name}").debug("the %s line", name)
        said = capfd.readouterr().err
        assert "the first line" in said and "the second line" in said and "third" not in said
    finally:
        config.update("jax_debug_log_modules", "")
    logging.getLogger("mine.first").debug("the last line")
    assert "last" not in capfd.readouterr().err


@pytest.mark.parametrize("name, value", [
    ("jax_use_shardy_partitioner", False), ("jax_persistent_cache_enable_xla_caches", "all"), ("jax_optimization_level", "O3"),
    ("jax_captured_constants_warn_bytes", -1), ("jax_hlo_source_file_canonicalization_regex", ".*"), ("jax_use_magma", "off")])
def test_flags_of_what_is_not_here_are_accepted_and_read_back(name, value):
    conf = fresh()
    conf.update(name, value)
    assert conf.read(name) == value and BY_NAME[name].inert


@pytest.mark.parametrize("name, value", [
    ("jax_mutable_array_checks", False), ("jax_dump_ir_to", "/x"), ("jax_thread_guard", True)])
def test_flags_that_would_change_what_happens_are_refused(name, value):
    with pytest.raises(ValueError, match=f"flag {name}: not supported, it can only be"):
        fresh().update(name, value)


def test_variables_of_flags_are_named_like_them():
    assert BY_NAME["jax2tf_associative_scan_reductions"].environment[-1] == "JAX2TF_ASSOCIATIVE_SCAN_REDUCTIONS"
    assert fresh(JAX_USE_MAGMA="on").jax_use_magma == "on"


def test_unknown_platforms_are_refused_where_the_block_begins():
    with pytest.raises(ValueError, match="platform name string like 'cpu' or 'gpu', got 'bad'"):
        module.default_device("bad")
    assert PLATFORMS == {*backends._BACKENDS, *backends._ALIASES}
