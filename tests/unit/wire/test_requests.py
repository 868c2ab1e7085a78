"""Requests of clients: each is declared once, with what answers it."""

from __future__ import annotations

import msgspec
import pytest

from dtrain_lab.wire import clients
from dtrain_lab.wire.clients.base import Body

REQUESTS = Body.__subclasses__()


@pytest.mark.parametrize("request_type", REQUESTS, ids=lambda kind: kind.__name__)
def test_a_request_can_be_sent_and_is_exported(request_type: type[Body]) -> None:
    assert request_type.__name__ in clients.__all__
    assert request_type in clients.AnyBody.__args__
    msgspec.msgpack.Decoder(request_type.result)  # a type that can be decoded


def test_what_answers_a_request_is_no_field_of_it() -> None:
    frame = clients.encode(clients.Request(1, clients.Info()))
    assert msgspec.msgpack.decode(frame)["body"] == {"k": "info"}
    assert clients.decode_to_head(frame).body == clients.Info()
