"""What needs several devices is tested in a process with eight: how many there are is decided when a process starts."""
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def _run(arguments, **environment):
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=1500, cwd=HERE.parents[1],
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **environment})


def test_everything_in_the_folder_eight_devices():
    done = _run(["-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-o", "python_files=*.py",
                 str(HERE / "eight_devices")], JAX_NUM_CPU_DEVICES="8")
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]


def test_xla_flags_set_the_number_of_devices():
    done = _run(["-c", "import numjet as nj; print(nj.device_count(), nj.devices()[2])"],
                XLA_FLAGS="--xla_x=1 --xla_force_host_platform_device_count=3")
    assert done.stdout.split() == ["3", "cpu:2"], done.stderr


def test_without_jaxlib_arrays_are_on_one_device_each_and_programs_of_several_say_what_is_missing():
    done = _run(["-c", """
import sys
sys.modules["jaxlib"] = None
import numpy as np, numjet as nj
x = nj.device_put(np.ones(4), nj.devices()[2])
assert (x + 1).devices() == {nj.devices()[2]}, (x + 1).devices()
assert nj.jit(lambda x: x * 2)(x).tolist() == [2, 2, 2, 2]
mesh = nj.make_mesh((4,), ("x",))
try:
    nj.device_put(x, nj.NamedSharding(mesh, nj.P("x")))
except RuntimeError as error:
    print(error)
"""], NUMJET_NUM_CPU_DEVICES="4")
    assert "pip install 'numjet[xla]'" in done.stdout, done.stderr
