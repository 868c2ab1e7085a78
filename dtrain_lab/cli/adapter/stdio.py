"""The debug adapter on stdin and stdout, for editors; everything else that is printed goes to stderr."""

from __future__ import annotations

import asyncio
import os
import stat
import sys
from functools import partial
from pathlib import Path

from dtrain_lab.api import debug_target
from dtrain_lab.api.portal import Portal
from dtrain_lab.debugger import framing
from dtrain_lab.debugger.editor.dialect import named_in
from dtrain_lab.debugger.state import Dap
from dtrain_lab.errors import BadRequest
from dtrain_lab.machine import supervision
from dtrain_lab.services.debugger.editor import AT_ONCE, EditorSession

PIECE = 1 << 16


def serve(cluster: str | None, job: str | None) -> None:
    """Serve one editor until it disconnects or closes its end; the ranks continue.

    Args:
        cluster: Name or id of a cluster; None to take what the editor's configuration names.
        job: Name or id of a job, instead.

    Raises:
        BadRequest: Stdin does not carry the debug adapter protocol, or no editor is connected to it.
    """
    if not (_speaks(0) and _speaks(1)):
        raise BadRequest(
            "An editor and its debug adapter communicate through pipes; stdin or stdout is not a pipe.",
            "Name this command in the editor's configuration: dtrain-lab debug --vscode prints one.",
        )
    answers = os.dup(1)
    os.dup2(2, 1)  # printed text, also that of C code, would break the protocol
    portal = Portal.get()
    portal.call(_serve(portal, cluster, job, answers))


def _speaks(descriptor: int) -> bool:
    """Return whether a descriptor is a pipe, a socket or a terminal, not a file, /dev/null or closed."""
    try:
        mode = os.fstat(descriptor).st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(descriptor)


def vscode_entry(cluster: str | None, job: str | None) -> Dap:
    """Return a configuration for VS Code, whose Python debugger then starts this folder as its adapter.

    Args:
        cluster: Name or id of a cluster, or else of a job; None for the only one that runs.
        job: Name or id of a job, instead.
    """
    named = {"job": job} if job else {"cluster": cluster} if cluster else {}
    return {
        "name": f"Ranks of {job or cluster}" if named else "Ranks",
        "type": "debugpy",
        "request": "attach",
        "processId": 0,  # not used; without it the Python debugger asks for a port
        "debugAdapterPython": sys.executable,
        "debugAdapterPath": str(Path(__file__).parent),
        **named,
    }


async def _serve(portal: Portal, cluster: str | None, job: str | None, answers: int) -> None:
    async def find(arguments: Dap) -> debug_target.Target:
        named = cluster or job
        return await debug_target.find(
            portal,
            cluster if named else arguments.get("cluster"),
            job if named else arguments.get("job"),
        )

    reader, writer = await _pipes(answers)
    session = EditorSession(find, lambda message: writer.write(framing.encode(message)))

    def skipped(data: bytes) -> None:
        named = named_in(data)
        which = "A message of the editor"
        if named is not None:
            which = f"Request {named['seq']} ({named['command'] or 'without a command'})"
        _say(f"{which} can't be read, and was skipped: {len(data)} bytes, {data[:60]!r}.")
        session.malformed(data)

    decoder = framing.Decoder(skipped)
    serving = asyncio.Lock()
    over = asyncio.Event()

    async def serve_in_order(message: Dap) -> None:
        async with serving:
            await session.serve(message)
        if session.disconnected:
            over.set()

    async def read() -> None:
        while data := await reader.read(PIECE):
            for message in decoder.feed(data):
                if message.get("type", "request") == "request":
                    at_once = message.get("command") in AT_ONCE
                    supervision.here().once(
                        "debug.request", (session.serve if at_once else serve_in_order)(message)
                    )
        if decoder.rest:
            _say(f"The editor closed the connection in the middle of a message: {decoder.rest[:60]!r}.")

    reading = asyncio.ensure_future(read())
    leaving = asyncio.ensure_future(over.wait())
    try:
        done, _ = await asyncio.wait({reading, leaving}, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in (reading, leaving):
            task.cancel()
        await session.close()
        writer.close()
        await writer.wait_closed()


def _say(text: str) -> None:
    print(f"dtrain-lab: {text}", file=sys.stderr, flush=True)


async def _pipes(answers: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(partial(asyncio.StreamReaderProtocol, reader), os.fdopen(os.dup(0), "rb", 0))
    unread = asyncio.StreamReader()
    transport, protocol = await loop.connect_write_pipe(
        partial(asyncio.StreamReaderProtocol, unread), os.fdopen(answers, "wb", 0)
    )
    return reader, asyncio.StreamWriter(transport, protocol, None, loop)
