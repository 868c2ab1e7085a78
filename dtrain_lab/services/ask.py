"""One question to a head that is not a cluster's: a job's."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import zmq
import zmq.asyncio

from dtrain_lab.backends.base import Way
from dtrain_lab.core.wire import doors
from dtrain_lab.errors import Unreachable, from_dict
from dtrain_lab.machine.curve import introduce

WITHIN_S = 15.0


async def ask(way: Way, body: doors.AnyBody, name: str) -> Any:
    """Ask, and be answered.

    Args:
        way: to the head.
        body: the question.
        name: of the job, for errors.

    Raises:
        DtrainError: what the head says is wrong.
        Unreachable: it does not answer.
    """
    socket: Any = zmq.asyncio.Context.instance().socket(zmq.DEALER)
    socket.linger = 0
    try:
        if way.keys is not None:
            introduce(socket, way.url, way.keys)
        socket.connect(way.url)
        await socket.send(doors.encode(doors.Call(1, body)))
        try:
            async with asyncio.timeout(WITHIN_S):
                frames = await socket.recv_multipart()
        except TimeoutError:
            raise Unreachable(
                f"The head of {name} did not answer in {WITHIN_S:.0f} s.", "Try again."
            ) from None
    finally:
        socket.close()
    answer = doors.decode_to_door(frames[-1])
    assert isinstance(answer, doors.Answer)
    if answer.error is not None:
        raise from_dict(answer.error)
    return msgspec.msgpack.decode(answer.result, type=doors.RESULTS[type(body)])
