"""What a forked process becomes: a cluster's rank, its ipyparallel controller, or a rank of a job.

Runs in the child. Each function first connects stdout and stderr; stdin is /dev/null, as the fork server's.
"""

from __future__ import annotations

import ctypes
import io
import mmap
import os
import random
import sys
from types import SimpleNamespace

from dtrain_lab.cells import output_buffer
from dtrain_lab.debugger.faulthandler import STACKS_SIGNAL
from dtrain_lab.jobs import environment_variables
from dtrain_lab.metrics import ring
from dtrain_lab.node.forkserver.messages import ForkScript
from dtrain_lab.rank.link import shared_memory
from dtrain_lab.wire.links import RankSpec

OPENBLAS = tuple(
    f"{prefix}openblas_set_num_threads{suffix}" for prefix in ("scipy_", "") for suffix in ("64_", "")
)
"""Names of the function in numpy's builds and in others; without it, numpy multiplies with one thread."""


def be_rank(spec: RankSpec, descriptors: list[int]) -> None:
    """Become a cluster's rank.

    Args:
        spec: Its settings.
        descriptors: Files and pipes that it shares with its agent.
    """
    _write_to(*_opened(spec.log))
    import faulthandler

    from dtrain_lab.rank import main

    metrics, kept, fault, *ends = descriptors
    faulthandler.enable(fault)
    faulthandler.register(STACKS_SIGNAL, file=fault, all_threads=True, chain=False)
    memory = shared_memory.Shared(
        memoryview(mmap.mmap(metrics, ring.BYTES)),
        memoryview(mmap.mmap(kept, output_buffer.BYTES)),
        {"stdout": (ends[0], ends[1]), "stderr": (ends[2], ends[3])},
    )
    os.close(metrics)
    os.close(kept)
    main.run(spec, memory)


def be_controller(arguments: tuple[str, ...], log: str) -> None:
    """Become a cluster's ipyparallel controller.

    Args:
        arguments: Its command line.
        log: File to write its output to.
    """
    _write_to(*_opened(log))
    import zmq
    from ipyparallel.controller import app

    from dtrain_lab.machine.net.curve import HANDSHAKE_MS
    from dtrain_lab.machine.net.zmq_options import in_every_context

    in_every_context(zmq.HANDSHAKE_IVL, HANDSHAKE_MS)
    if any(argument.startswith("--ip=[") for argument in arguments):
        in_every_context(zmq.IPV6, 1)
    # it sleeps 0.25 s after it has made its database, and ranks would wait for that; ours has no database
    app.time = SimpleNamespace(sleep=lambda _: None)
    sys.argv = ["dtrain-controller"]
    app.IPController.launch_instance(argv=list(arguments))


def be_script(order: ForkScript, descriptors: list[int]) -> None:
    """Become a rank of a job, as if `python -m dtrain_lab.rank` had been started in its environment.

    Args:
        order: Its arguments, environment and folder.
        descriptors: Its stdout and stderr, and those of `environment_variables.FILES`.
    """
    out, error, *files = descriptors
    _write_to(out, error)
    os.environb.clear()
    os.environb.update(order.environment)
    os.environ.update(
        {name: str(file) for name, file in zip(environment_variables.FILES, files, strict=True)}
    )
    os.environ[environment_variables.AGENT] = str(os.getppid())
    os.chdir(order.folder)
    if "numpy" in sys.modules:
        _set_blas_threads()
    sys.argv = [os.fsdecode(argument) for argument in order.arguments]
    from dtrain_lab.rank.job.runner import main

    main()


def reseed() -> None:
    """Give this process random numbers of its own: the fork server's state is the same in all children."""
    random.seed()
    if "numpy.random" in sys.modules:  # older versions of numpy import it
        sys.modules["numpy.random"].seed()


def _opened(log: str) -> tuple[int, int]:
    target = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    return target, target


def _write_to(out: int, error: int) -> None:
    """Connect stdout and stderr to files, which are closed; streams are unbuffered, as with Python's `-u`."""
    os.dup2(out, 1)
    os.dup2(error, 2)
    for file in {out, error}:
        os.close(file)
    for number, name, errors in ((1, "stdout", "strict"), (2, "stderr", "backslashreplace")):
        raw = open(number, "wb", buffering=0, closefd=False)
        stream = io.TextIOWrapper(raw, sys.stdout.encoding, errors, write_through=True)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _set_blas_threads() -> None:
    """Give numpy's OpenBLAS the threads that it would have taken from the environment when it was loaded."""
    count = os.environ.get("OPENBLAS_NUM_THREADS") or os.environ.get("OMP_NUM_THREADS") or ""
    with open("/proc/self/maps") as maps:
        libraries = {line.split()[-1] for line in maps if "openblas" in line}
    for library in libraries if count.isdecimal() else ():
        loaded = ctypes.CDLL(library)
        for name in OPENBLAS:
            if hasattr(loaded, name):
                getattr(loaded, name)(int(count))
