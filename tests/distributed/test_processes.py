"""Programs of several processes, started on this machine."""
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import numjet as nj
from numjet.foundation import processes

HERE = Path(__file__).resolve().parent


def launch(count, program, *options, arguments=(), timeout=240):
    command = [sys.executable, "-m", "numjet.tools.launch", "-n", str(count), *options, str(HERE / program), *arguments]
    path = os.pathsep.join(filter(None, sys.path))
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, cwd=HERE.parents[1],
                          env={**os.environ, "PYTHONPATH": path})


def test_four_processes_compute_together():
    done = launch(4, "four_processes.py", "--devices", "2")
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    for k in range(4):
        assert f"process {k} is done" in done.stdout


def test_four_processes_train_as_one_device_does():
    done = launch(4, "../../examples/sharded_transformer.py", "--devices", "2", arguments=("4x2",), timeout=550)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert "4 x 2 devices" in done.stdout and "differ by at most" in done.stdout


def test_a_killed_process_ends_the_others():
    start = time.monotonic()
    done = launch(3, "dying_process.py", "--grace", "45")
    assert done.returncode == 128 + 9, done.stdout[-6000:] + done.stderr[-2000:]
    assert "[0] an exchange failed" in done.stdout
    assert "another task died" in done.stdout and time.monotonic() - start < 55


@pytest.mark.parametrize(("environ", "expected"), [
    ({"SLURM_JOB_ID": "5000", "SLURM_NTASKS": "8", "SLURM_PROCID": "3", "SLURM_LOCALID": "1",
      "SLURM_STEP_NODELIST": "node[003-007,12],other"}, ("node003:62344", 8, 3, 1)),
    ({"OMPI_MCA_orte_hnp_uri": "1531576320.0;tcp://10.96.0.1,10.148.0.1:34911", "OMPI_COMM_WORLD_SIZE": "4",
      "OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_LOCAL_RANK": "0"}, ("10.96.0.1:61440", 4, 2, 0)),
    ({"KUBERNETES_SERVICE_HOST": "10.0.0.1", "JOB_COMPLETION_INDEX": "5", "JAX_COORDINATOR_ADDRESS": "job-0.svc:1234",
      "JAX_NUM_PROCESSES": "6"}, ("job-0.svc:1234", 6, 5, None)),
    ({}, None)])
def test_launchers_are_asked(environ, expected):
    found = processes.detect(environ=environ)
    assert found == (None if expected is None else processes.Cluster(*expected))
    assert processes.detect("deactivate", environ) is None


def test_variables_say_what_arguments_do_not():
    assert processes.given({"JAX_COORDINATOR_ADDRESS": "a:1", "JAX_NUM_PROCESSES": "2", "NUMJET_PROCESS_ID": "1"}) == {
        "coordinator_address": "a:1", "num_processes": 2, "process_id": 1}
    with pytest.raises(ValueError, match="PROCESS_ID must be a number"):
        processes.given({"JAX_PROCESS_ID": "one"})


@pytest.mark.parametrize(("error", "text", "options"), [
    (ValueError, "coordinator_address should be defined", {"num_processes": 2, "process_id": 0}),
    (ValueError, "Number of processes must be defined", {"coordinator_address": "a:1"}),
    (ValueError, "process id of the current process must be defined", {"coordinator_address": "a:1", "num_processes": 2}),
    (ValueError, "expected process_id from 0 to 1", {"coordinator_address": "a:1", "num_processes": 2, "process_id": 2}),
    (ValueError, 'must be "host:port"', {"coordinator_address": "a", "num_processes": 2, "process_id": 0}),
    (ValueError, "can be used with 'slurm', 'ompi', 'k8s'", {"cluster_detection_method": "mpi4py"}),
    (NotImplementedError, "for TPUs in several slices", {"slice_index": 1}),
    (ValueError, "names GPUs", {"local_device_ids": [0]})])
def test_errors_of_initialize(error, text, options):
    with pytest.raises(error, match=text):
        nj.distributed.initialize(**options)
    assert not nj.distributed.is_initialized()


def test_processes_start_before_devices_are_used():
    assert nj.devices()
    with pytest.raises(RuntimeError, match="must be called before any JAX calls"):
        nj.distributed.initialize("localhost:1", num_processes=2, process_id=0)
