"""Start of a cluster's rank: turns a forked copy of the fork server into an engine that obeys the head."""

from __future__ import annotations

import logging
import os
import resource
import sys

import ipykernel_launcher
import zmq
from traitlets.config import Config

from dtrain_lab.cells import output_buffer
from dtrain_lab.jobs import environment_variables
from dtrain_lab.machine.net import collectives_interface
from dtrain_lab.machine.net.zmq_options import in_every_context
from dtrain_lab.placement.devices import device_of
from dtrain_lab.rank import setup
from dtrain_lab.rank.engine import RankEngine
from dtrain_lab.rank.frameworks import torch_libraries
from dtrain_lab.rank.link.order_reading import MainSelector, main_loop
from dtrain_lab.rank.link.shared_memory import Shared
from dtrain_lab.rank.notes import say_in_first_cell
from dtrain_lab.rank.output.streams import RankStream
from dtrain_lab.rank.rank import Rank
from dtrain_lab.rank.torch import names
from dtrain_lab.wire.links import RankSpec

OUR_LOGGERS = ("asyncio", "ipykernel", "ipyparallel", "tornado", "traitlets", "RankEngine", "dtrain_lab.rank")


def run(spec: RankSpec, memory: Shared) -> None:
    """Run a rank until the head ends it. Called in the forked child.

    Args:
        spec: settings of this rank.
        memory: what it shares with the node agent.
    """
    _environment(spec)
    _log_to_file()
    _raise_file_limit()
    setup.set_threads(spec.variables, spec.threads)
    _set_device(spec)
    if ":" in spec.master_address:  # the controller then listens on IPv6, too
        in_every_context(zmq.IPV6, 1)
    # as in a notebook kernel: argparse prints this name in "usage:"
    sys.argv = [ipykernel_launcher.__file__]
    app = RankEngine.instance(
        config=Config(
            ProfileDir={"location": spec.profile_dir},
            # the default is the fork server's folder at the time it imported ipyparallel
            BaseParallelApplication={"work_dir": os.getcwd()},
            IPEngine={"id": spec.rank, "enable_nanny": False, "max_heartbeat_misses": 0},
            Application={"log_level": logging.WARNING},
        )
    )
    app.spec = spec
    selector = main_loop()
    app.attach = lambda engine: _attach(engine, memory, selector)
    RankStream.regions = {
        stream: output_buffer.Region(memory.output, stream) for stream in output_buffer.STREAMS
    }
    RankStream.pipes = memory.pipes
    app.out_stream_factory = RankStream
    os.makedirs(spec.profile_dir, mode=0o700, exist_ok=True)
    app.initialize([])
    app.start()


def _attach(engine: RankEngine, memory: Shared, selector: MainSelector) -> None:
    """Make the rank of its engine; from then on the head can form the group and run cells."""
    _not_a_terminal()
    Rank(engine, engine.kernel, engine.spec, memory, selector)
    if engine.spec.rank == 0:  # all ranks lack the same features
        say_in_first_cell(engine.kernel.shell.events, names.silently_lost())


def _not_a_terminal() -> None:
    """Remove Python's prompts: Lightning takes them for an interactive session and refuses its strategies."""
    for prompt in ("ps1", "ps2", "ps3"):
        vars(sys).pop(prompt, None)


def _log_to_file() -> None:
    """Send the engine's loggers to the rank's log file instead of the kernel's stderr.

    The IOPub thread writes the kernel's stderr out, so a log line of its own would make it wait for itself.
    """
    log = os.fdopen(os.dup(2), "w", buffering=1)
    handler = logging.StreamHandler(log)
    handler.setFormatter(logging.Formatter("%(asctime)s %(name)s %(levelname)s %(message)s"))
    # the user's own loggers still write to the cell's stderr
    for name in OUR_LOGGERS:
        logger = logging.getLogger(name)
        logger.addHandler(handler)
        logger.propagate = False


def _raise_file_limit() -> None:
    """Raise the limit of open files: each group has sockets to every peer, and old ones are never freed."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _environment(spec: RankSpec) -> None:
    os.environ.update(spec.variables)
    os.environ.update(
        RANK=str(spec.rank),
        LOCAL_RANK=str(spec.local_rank),
        WORLD_SIZE=str(spec.world_size),
        LOCAL_WORLD_SIZE=str(spec.local_world_size),
        NODE_RANK=str(spec.node_rank),
        MASTER_ADDR=spec.master_address,
        MASTER_PORT=str(spec.master_port),
        PYDEVD_DISABLE_FILE_VALIDATION="1",
        **torch_libraries.torchrun_variables(
            spec.rank,
            spec.world_size,
            spec.local_rank,
            spec.local_world_size,
            spec.node_rank,
            "dtrain-lab",
        ),
    )
    os.environ.setdefault(environment_variables.CHECKPOINTS, os.path.join(spec.directory, "checkpoints"))
    os.environ.setdefault("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    collectives_interface.use(spec.interface)
    # the notebook's folder may be missing on a host that doesn't share its file system
    os.chdir(spec.directory if os.path.isdir(spec.directory) else os.path.expanduser("~"))
    # as in a notebook: modules beside it can be imported, those in the fork server's folder can't
    sys.path[:] = ["", *(path for path in sys.path if path not in ("", "/"))]


def _set_device(spec: RankSpec) -> None:
    import torch

    gpu = device_of(spec.local_rank, range(spec.gpus))
    if gpu is not None:
        torch.cuda.set_device(gpu)
