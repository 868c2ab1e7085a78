"""Long messages in pieces: whole on the other side, whatever they hold."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dtrain_lab.errors import WireMismatch
from dtrain_lab.wire.codec import chunks


@pytest.mark.parametrize("size", [1, 2, chunks.MOST_FRAME, chunks.MOST_FRAME + 1, 3 * chunks.MOST_FRAME + 5])
def test_no_frame_is_longer_than_a_socket_takes_and_the_message_is_whole(size: int) -> None:
    message = b"\x81" + bytes(range(256)) * (size // 256 + 1)
    message = message[:size]
    frames = chunks.split(message)
    assert all(len(frame) <= chunks.MOST_FRAME for frame in frames)
    assert list(chunks.join([b"\x90", *frames, b"\x91"])) == [b"\x90", message, b"\x91"]


def test_a_piece_may_begin_as_a_mark_does() -> None:
    message = b"\x81" + bytes([chunks.CUT]) * (2 * chunks.MOST_FRAME)
    assert list(chunks.join(chunks.split(message))) == [message]


def test_a_message_that_nobody_takes_is_refused_where_it_is_made() -> None:
    with pytest.raises(WireMismatch, match="too large"):
        chunks.split(bytes(chunks.MOST_MESSAGE + 1))


@given(st.lists(st.binary(max_size=20), max_size=20))
def test_whatever_a_peer_sends_ends(frames: list[bytes]) -> None:
    assert sum(map(len, chunks.join(frames))) <= sum(map(len, frames))
