"""Pending requests: what becomes of them after a lost connection is back."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from dtrain_lab.errors import Unreachable
from dtrain_lab.services.connection.pending_requests import PendingRequests
from dtrain_lab.wire import clients

BROKE = Unreachable("The connection broke.", code="connection_broke")
REPEATED = (
    clients.Info(),
    clients.ReadHistory(),
    clients.ReadOutput(),
    clients.Stacks(),
    clients.Advise(),
    clients.Diagnose("d"),
    clients.Stop(),
)
FAILED = (clients.Interrupt(), clients.Restart(), clients.Comm("c", 0, "comm_msg", b"{}"))


def pending(requests: PendingRequests, body: clients.AnyBody) -> asyncio.Future[Any]:
    answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    requests.add(body, answer)
    return answer


async def test_only_requests_that_change_nothing_when_they_come_twice_are_sent_again() -> None:
    requests = PendingRequests()
    repeated = [pending(requests, body) for body in REPEATED]
    failed = [pending(requests, body) for body in FAILED]
    sent: list[clients.Request] = []
    requests.resend_or_fail(sent.append, lambda: BROKE)
    assert [request.body for request in sent] == list(REPEATED)
    assert not any(answer.done() for answer in repeated)
    assert all(answer.exception() is BROKE for answer in failed)


@pytest.mark.parametrize("cell", [clients.Run("c", "pass", "[1]"), clients.Follow("c")])
async def test_a_cell_is_neither_run_again_nor_failed(cell: clients.Run | clients.Follow) -> None:
    requests = PendingRequests()
    answer = pending(requests, cell)
    sent: list[clients.Request] = []
    requests.resend_or_fail(sent.append, lambda: BROKE)
    assert not sent
    assert not answer.done()


async def test_a_request_that_was_answered_is_not_sent_again() -> None:
    requests = PendingRequests()
    answer = pending(requests, clients.Clock())
    requests.answered(clients.Answer(1, result=b"\x01"))
    sent: list[clients.Request] = []
    requests.resend_or_fail(sent.append, lambda: BROKE)
    assert (answer.result(), sent) == (1.0, [])
