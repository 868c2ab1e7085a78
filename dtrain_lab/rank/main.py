"""Start of a rank: from a forked copy of the fork server to an engine that is on the link."""

from __future__ import annotations

import logging
import os
import random
import resource
import signal
import socket
import sys
from collections.abc import Callable
from typing import Any

from ipykernel.ipkernel import IPythonKernel
from ipyparallel.engine.app import IPEngine

from dtrain_lab.core import words
from dtrain_lab.core.wire.links import RankSpec
from dtrain_lab.machine import ipv6
from dtrain_lab.rank import link as rank_link
from dtrain_lab.rank.link import Shared
from dtrain_lab.rank.streams import RankStream

OUR_LOGGERS = ("asyncio", "ipykernel", "ipyparallel", "tornado", "traitlets", "RankEngine")


class RankEngine(IPEngine):  # type: ignore[misc]
    """ipyparallel's engine, with the link attached once its kernel exists."""

    spec: RankSpec
    memory: Shared

    def init_engine(self) -> None:
        """Take the connection from the fork, so that its key is in no environment and no file of ours."""
        self.connection_info_env = self.spec.engine
        super().init_engine()

    def init_signal(self) -> None:
        """SIGINT outside a cell is nothing; the link sets Python's own handler while a cell runs."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, self._signal_stop)

    async def register(self) -> None:
        """Register, as the successor of a process that had this rank's number before."""
        if self.spec.replaces:
            usual = self.session.send

            def send(stream: Any, kind: Any, *args: Any, **kwargs: Any) -> Any:
                if kind == "registration_request":
                    self.session.send = usual
                    # on the same socket, so that the number is free when we ask for it
                    usual(stream, "unregistration_request", content={"id": self.spec.rank})
                return usual(stream, kind, *args, **kwargs)

            self.session.send = send
        await super().register()

    async def complete_registration(self, msg: Any, connect: Any, maybe_tunnel: Any) -> None:
        """Attach the link: from here on the head can form the group and run cells."""
        await super().complete_registration(msg, self._but_tasks(connect), maybe_tunnel)
        kernel: IPythonKernel = self.kernel
        rank_link.attach(self, kernel, self.spec, self.memory)

    def _but_tasks(self, connect: Callable[..., Any]) -> Callable[..., Any]:
        """Our controllers have no task scheduler: ZMQ would try its port seven times a second for ever."""
        nobody = f"{self.connection_info['interface']}:{self.connection_info['task']}"

        def connect_to(stream: Any, url: str, **kwargs: Any) -> Any:
            return None if url == nobody else connect(stream, url, **kwargs)

        return connect_to


def run(spec: RankSpec, memory: Shared) -> None:
    """Be a rank until the head ends it. Called in the forked child.

    Args:
        spec: who this rank is.
        memory: shared with the node agent.
    """
    _environment(spec)
    _log_to_file()
    _raise_file_limit()
    _threads_and_device(spec)
    if "://[" in spec.engine:
        ipv6.in_every_context()
    sys.argv = ["dtrain-rank"]
    app = RankEngine.instance()
    app.spec = spec
    app.memory = memory
    RankStream.regions = {stream: words.Region(memory.words, stream) for stream in words.STREAMS}
    RankStream.pipes = memory.pipes
    app.out_stream_factory = RankStream
    app.initialize(
        [
            f"--profile-dir={spec.profile_dir}",
            # its default is where the fork server was when it imported ipyparallel
            f"--work-dir={os.getcwd()}",
            f"--IPEngine.id={spec.rank}",
            "--IPEngine.enable_nanny=False",
            "--IPEngine.max_heartbeat_misses=0",
            "--IPEngine.timeout=60",
            "--log-level=30",
        ]
    )
    app.start()


def _log_to_file() -> None:
    """The engine's loggers write to the rank's log, whatever becomes of stderr.

    A log line of the IOPub thread must not go into the kernel's stderr: that thread would wait for itself.
    """
    log = os.fdopen(os.dup(2), "w", buffering=1)
    handler = logging.StreamHandler(log)
    handler.setFormatter(logging.Formatter("%(asctime)s %(name)s %(levelname)s %(message)s"))
    # the user's own loggers are left alone: they write to the cell's stderr
    for name in OUR_LOGGERS:
        logger = logging.getLogger(name)
        logger.addHandler(handler)
        logger.propagate = False


def _raise_file_limit() -> None:
    """Each group has sockets to every peer, and those of past generations are never freed."""
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
    )
    os.environ.setdefault("DTRAIN_CHECKPOINT_DIR", os.path.join(spec.directory, "checkpoints"))
    os.environ.setdefault("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    if "OMP_NUM_THREADS" not in spec.variables:
        # the fork server ran with 1; child processes of this rank get the rank's own share
        for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
            os.environ[name] = str(spec.threads)
    os.environ.setdefault("GLOO_SOCKET_IFNAME", spec.interface or _loopback())
    if spec.interface is not None:
        os.environ.setdefault("NCCL_SOCKET_IFNAME", spec.interface)
        os.environ.setdefault("HCCL_SOCKET_IFNAME", spec.interface)
    # a host that does not share the notebook's file system has no such folder
    os.chdir(spec.directory if os.path.isdir(spec.directory) else os.path.expanduser("~"))
    # as in a notebook: modules beside it can be imported; the fork server's own folder is nobody's business
    sys.path[:] = ["", *(path for path in sys.path if path not in ("", "/"))]
    random.seed()


def _loopback() -> str:
    """Name of the loopback interface: one node's ranks need no other."""
    names = [name for _, name in socket.if_nameindex()]
    return next((name for name in names if name in ("lo", "lo0")), names[0])


def _threads_and_device(spec: RankSpec) -> None:
    import torch

    torch.set_num_threads(int(spec.variables.get("OMP_NUM_THREADS", spec.threads)))
    if spec.gpus:
        torch.cuda.set_device(spec.local_rank % spec.gpus)
