"""What another version or a stranger sends: answered or dropped, never an exception that nobody expects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from dtrain_lab.errors import WireMismatch
from dtrain_lab.node.forkserver import messages as fork_messages
from dtrain_lab.wire import VERSION, clients, links
from dtrain_lab.wire.codec import decode
from dtrain_lab.wire.jobs import gang

DECODERS: dict[str, Callable[[bytes], Any]] = {
    "clients.to_head": clients.decode_to_head,
    "clients.to_client": clients.decode_to_client,
    "links.to_head": links.decode_to_head,
    "links.from_job_rank": links.decode_from_job_rank,
    "links.to_agent": links.decode_to_agent,
    "links.to_rank": links.decode_to_rank,
    "gang.host_message": gang.host_message,
    "gang.answer": gang.answer,
    "forkserver.order": fork_messages.decode_order,
    "forkserver.news": fork_messages.decode_news,
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
TAGS = sorted(
    {
        kind.__struct_config__.tag
        for module in (clients, links, gang)
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct) and kind.__struct_config__.tag
    }
)
GOOD = [
    msgspec.msgpack.encode(clients.Request(7, clients.Info())),
    msgspec.msgpack.encode(links.NodeHello(node=0, name="a", pid=1)),
    msgspec.msgpack.encode(links.Samples(node=0, samples=(links.RankSample(rank=0),))),
    msgspec.msgpack.encode(links.Execute(cell="c", code="1", label="[1]")),
    msgspec.msgpack.encode(gang.Start(port=1)),
]
NEARLY = st.builds(
    lambda tag, body: msgspec.msgpack.encode({**body, "k": tag}),
    st.sampled_from(TAGS),
    st.dictionaries(st.sampled_from(["id", "body", "node", "rank", "samples", "cell"]), JSON, max_size=5),
)


@st.composite
def damaged(draw: Any) -> bytes:
    """A good message with some bytes changed, or cut short."""
    data = bytearray(draw(st.sampled_from(GOOD)))
    for _ in range(draw(st.integers(1, 4))):
        data[draw(st.integers(0, len(data) - 1))] = draw(st.integers(0, 255))
    return bytes(data[: draw(st.integers(0, len(data)))])


@pytest.mark.parametrize("name", sorted(DECODERS))
@settings(max_examples=150, deadline=None)
@given(data=st.binary(max_size=64) | JSON.map(msgspec.msgpack.encode) | NEARLY | damaged())
def test_whatever_comes_is_read_or_refused(name: str, data: bytes) -> None:
    try:
        DECODERS[name](data)
    except WireMismatch:
        return


@pytest.mark.parametrize("name", sorted(DECODERS))
def test_what_would_exhaust_us_is_refused(name: str) -> None:
    for bomb in (
        b"\x91" * 100_000,
        b"\xdd\xff\xff\xff\xff",
        b"\xc6\xff\xff\xff\xff",
        b"\xdf\xff\xff\xff\xff",
    ):
        with pytest.raises(WireMismatch):
            DECODERS[name](bomb)


def test_every_decoder_of_ours_is_guarded() -> None:
    for module in (clients, links, gang, fork_messages):
        bare = [n for n, v in vars(module).items() if isinstance(v, msgspec.msgpack.Decoder)]
        assert bare == []


def test_a_question_of_another_version_can_be_answered() -> None:
    newer = {"k": "call", "id": 12, "version": VERSION + 5, "body": {"k": "teleport", "where": "there"}}
    data = msgspec.msgpack.encode(newer)
    assert decode.asked(data) == (12, VERSION + 5)
    with pytest.raises(
        WireMismatch, match=f"uses protocol version {VERSION + 5}, but this process uses {VERSION}"
    ):
        clients.decode_to_head(data)
    assert decode.asked(b"\xff") == (None, None)


def test_text_that_is_no_unicode_is_sent_all_the_same() -> None:
    """A message that could not be sent would be waited for forever."""
    reply = links.StacksRead(rank=1, id=2, frames=(), text="broken \ud800 name")
    assert links.decode_to_head(links.encode(reply)) == links.StacksRead(
        rank=1, id=2, frames=(), text="broken ? name"
    )
    output = links.CellOutput(cell="c", rank=0, kind="stdout", text="\udcff", data=b"\xff\x00")
    assert links.decode_to_head(links.encode(output)) == replace(output, text="?")
