"""Source of a cluster's ranks: forks them from the fork server, as the head requests."""

from __future__ import annotations

import asyncio
import logging
import math
import os
import signal
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import msgspec
from msgspec.structs import replace

from dtrain_lab.machine import gpus, processes, slot_tickets, supervision
from dtrain_lab.machine.cgroup import OutOfMemory
from dtrain_lab.machine.facts import check
from dtrain_lab.machine.logs import event_logs
from dtrain_lab.node.agent import Agent, Process, serve
from dtrain_lab.node.forkserver import messages
from dtrain_lab.node.forkserver.client import ForkServerClient
from dtrain_lab.node.forkserver.messages import NO_PROCESS
from dtrain_lab.node.network_probe import Listener, reaches
from dtrain_lab.placement.devices import device_of
from dtrain_lab.wire import links
from dtrain_lab.wire.processes.settings import HEIR, AgentSettings

log = logging.getLogger("dtrain_lab.node")
NO_CUDA = "can't compute on the GPUs of this machine"
UNSAID_S, QUIET_S = 0.25, 1.0
"""Seconds between checks of what ranks print; and of silence, after which the amount is reported."""


class ForkSource:
    """Ranks that the head owns. Implements `agent.Source`."""

    tick_s = 0.25
    _agent: Agent

    def __init__(self, settings: AgentSettings) -> None:
        self.node = settings.node
        self.gpus = settings.gpus
        self._settings = settings
        self._ranks: dict[int, Process] = {}
        variables = {**os.environ, **settings.variables}
        self._visible = gpus.usable(variables) if settings.gpus else ()
        """GPUs that ranks could use."""
        self._only: dict[str, str] = {}
        """Environment variables that show ranks the cluster's GPUs and no others."""
        self._gpus: dict[int, str] = {}
        """Rank → its GPU."""
        self._memory = OutOfMemory()
        self._forks = ForkServerClient(settings.variables, self._received, self._server_gone)
        self._listener: Listener | None = None
        self._done = asyncio.Event()
        self._heir = ""
        """Socket of the agent that takes over the fork server."""
        self._printed: dict[int, tuple[int, int, float]] = {}
        """Rank → bytes of stdout and stderr, and since when they are unchanged; infinity once reported."""

    def attach(self, agent: Agent) -> None:
        """Send to the head through this agent."""
        self._agent = agent
        self._send = agent.link.send

    async def run(self) -> int:
        """Serve the head until it sends `LeaveWorld` or is gone."""
        loop = asyncio.get_running_loop()
        supervisor = supervision.here()
        supervisor.own_loop()
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self._done.set)
        if self._settings.lifeline is not None:
            loop.add_reader(self._settings.lifeline, self._done.set)
        log_file = os.path.join(self._settings.directory, f"forks.{self.node}.log")
        if self._settings.inherits:
            path = os.path.join(self._settings.directory, HEIR)
            supervisor.once("node.task", self._forks.take_over(path, log_file))
        else:
            self._forks.start(log_file)
        if not self._settings.link:
            line = await asyncio.to_thread(sys.stdin.buffer.readline)
            if not line:  # stdin was closed without a link: `join` found no head
                self._forks.end()
                return 0
            self._settings = msgspec.json.decode(line, type=AgentSettings)
        self._agent.join(self._settings.link, self._settings.keys)
        link = supervisor.start_loop("node.link", self._end_with_head)
        unsaid = supervisor.start_loop("node.unsaid", self._report_unsent)
        log.info("began: node %s, pid %s", self.node, os.getpid())
        try:
            await self._done.wait()
        finally:
            link.cancel()
            unsaid.cancel()
            if not (self._heir and await self._forks.hand_on(self._heir)):
                self._forks.end()
        return 0

    # ---- as a source

    def processes(self) -> Sequence[Process]:
        """Ranks that live."""
        return tuple(self._ranks.values())

    def hello(self) -> links.NodeHello:
        """Describe this node; with its check, where the head did not choose the node itself."""
        settings = self._settings
        chosen = settings.keys is not None or settings.joins
        return links.NodeHello(
            node=self.node,
            name=settings.name,
            pid=os.getpid(),
            directory=settings.directory,
            link=settings.link,
            check=check() if chosen else None,
        )

    def obey(self, order: links.Message) -> None:
        """Handle a message from the head."""
        match order:
            case links.ReserveSlots(cluster, name, size):
                self._acquire_slots(cluster, name, size)
            case links.Fork(ranks):
                for spec in ranks:
                    self._make(replace(spec, variables={**self._only, **spec.variables}))
            case links.ForkController():
                self._forks.fork_controller(order)
            case links.Signal(keys, number):
                self._forks.signal(keys, number)
            case links.Listen():
                supervision.here().once("node.task", self._listen(order), self._not_listening)
            case links.Probe():
                supervision.here().once("node.task", self._probe(order))
            case links.StopListening():
                if self._listener is not None:
                    self._listener.close()
            case links.ReadPendingOutput(rank) if rank in self._ranks:
                unsent = self._forks.crash_outputs[rank].pending()
                self._send(links.PendingOutput(rank=rank, pid=self._ranks[rank].pid, words=unsent))
            case links.LeaveWorld(heir):
                self._heir = heir
                self._done.set()

    # ----

    async def _end_with_head(self) -> None:
        await self._agent.link.head_gone()
        self._done.set()

    def _acquire_slots(self, cluster: str, name: str, size: int) -> None:
        """Register the cluster as the holder of slots on this host; its ranks see only its GPUs."""
        held = slot_tickets.acquire(cluster, name, size, self._visible)
        self._only = gpus.only(held) if held != self._visible else {}

    async def _listen(self, order: links.Listen) -> None:
        self._listener = Listener(order.nonce)
        try:
            port = await self._listener.open(order.address, order.ports)
        except OSError as error:
            self._send(links.Listening(node=self.node, error=error.strerror or str(error)))
        else:
            self._send(links.Listening(node=self.node, port=port))

    def _not_listening(self, error: Exception) -> None:
        self._send(links.Listening(node=self.node, error=supervision.say(error)))

    async def _probe(self, order: links.Probe) -> None:
        reachable = await asyncio.gather(*(reaches(t.address, t.port, t.nonce) for t in order.targets))
        blocked = tuple(t.node for t, good in zip(order.targets, reachable, strict=True) if not good)
        self._send(links.Probed(node=self.node, blocked=blocked))

    def _make(self, spec: links.RankSpec) -> None:
        """Fork a rank; a failure is reported to the head."""
        try:
            names = gpus.usable({**os.environ, **spec.variables}) if spec.gpus else ()
            gpu = device_of(spec.local_rank, names)
            if gpu is not None:
                self._gpus[spec.rank] = gpu
            self._forks.fork(spec)
        except Exception as error:  # noqa: BLE001 # reported as the rank's exit; other ranks are forked
            supervision.here().fault("node.order", error)
            how = f"could not be forked ({supervision.say(error)})"
            self._send(links.Forked(key=spec.rank, pid=NO_PROCESS))
            self._send(links.Exited(key=spec.rank, pid=NO_PROCESS, code=1, how=how))

    async def _report_unsent(self) -> None:
        """A blocked rank can't send what it has printed, so report to the head how much that is."""
        while True:
            await asyncio.sleep(UNSAID_S)
            now = time.monotonic()
            for rank in self._ranks:
                crash_output = self._forks.crash_outputs.get(rank)
                if crash_output is None:
                    continue
                out, err = crash_output.written("stdout"), crash_output.written("stderr")
                before = self._printed.get(rank)
                if before is None or before[:2] != (out, err):
                    self._printed[rank] = (out, err, now)
                elif now - before[2] >= QUIET_S:
                    self._printed[rank] = (out, err, math.inf)  # reported once
                    self._send(links.OutputStalled(rank=rank, stdout=out, stderr=err))

    def _received(self, news: messages.News) -> None:
        match news:
            case messages.Loaded(seconds, torch, on_gpus, error):
                if not error and not on_gpus and self._visible:
                    error = f"torch {torch} {NO_CUDA}"
                self._send(links.Preloaded(self.node, seconds, torch, error, _import_hint(error)))
            case messages.ProcessForked(key, pid):
                if key != links.CONTROLLER:
                    stacks = partial(self._forks.crash_outputs[key].stacks, pid, processes.began_at(pid))
                    self._ranks[key] = Process(key, pid, self._forks.rings[key], self._gpus.get(key), stacks)
                self._send(links.Forked(key=key, pid=pid))
            case messages.ProcessExited():
                self._died(news)

    def _died(self, news: messages.ProcessExited) -> None:
        how = news.how or self._memory.how(news.code)
        last = links.Exited(key=news.key, pid=news.pid, code=news.code, last=news.last, how=how)
        rank = self._ranks.get(news.key)
        if rank is not None and rank.pid == news.pid:
            del self._ranks[news.key]
            self._printed.pop(news.key, None)
            try:
                last = self._with_crash_output(last, rank)
            except Exception as error:  # noqa: BLE001 # its exit must be reported all the same
                supervision.here().fault("node.order", error)
        self._send(last)

    def _with_crash_output(self, last: links.Exited, rank: Process) -> links.Exited:
        crash_output = self._forks.crash_outputs.pop(last.key)
        try:
            return replace(
                last, words=crash_output.read(), fault=crash_output.fault(), calls=tuple(rank.ring.calls())
            )
        finally:
            crash_output.close()

    def _server_gone(self) -> None:
        self._send(links.Preloaded(node=self.node, error="the fork server has ended"))
        asyncio.get_running_loop().call_later(0.2, self._done.set)


def _import_hint(error: str) -> str:
    if not error:
        return ""
    if "No module named 'torch'" in error:
        return f"Install it there: {sys.executable} -m pip install torch"
    if NO_CUDA in error:
        return (
            "Install a build of torch with CUDA; or, to train on the processor, hide the GPUs: "
            'CUDA_VISIBLE_DEVICES = "" under [environment] variables of the profile.'
        )
    if "torch.distributed" in error:
        return "Install a build of torch with distributed support."
    if error.startswith("ModuleNotFoundError"):
        return f"Install it there: {sys.executable} -m pip install dtrain-lab"
    return "The fork server's log has the details."


def main() -> None:
    """Entry point of `python -m dtrain_lab.node`."""
    settings = msgspec.json.decode(sys.stdin.buffer.readline(), type=AgentSettings)
    event_logs.to_file(Path(settings.directory, f"node.{settings.node}{event_logs.SUFFIX}"))
    asyncio.run(_serve(settings))


async def _serve(settings: AgentSettings) -> int:
    return await serve(ForkSource(settings))
