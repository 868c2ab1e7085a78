"""Splitting of long messages into frames below the size limit of listening sockets.

ZeroMQ applies the limit before a peer is authenticated too; otherwise it would buffer such a peer's frames in
memory. Our messages are msgpack maps or arrays, which never begin with `CUT`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dtrain_lab.errors import WireMismatch

MOST_FRAME = 1 << 20
"""Maximum bytes of a frame that we send."""
SOCKET_LIMIT = MOST_FRAME + 1024
"""Maximum bytes of a frame that a listening socket accepts; CURVE adds a few to each."""
MOST_MESSAGE = 256 << 20
"""Maximum bytes of a message, summed over its pieces."""
CUT = 0xC1
"""First byte of a piece, which msgpack never uses. The second byte is 1 if more pieces follow, else 0."""
_PIECE = MOST_FRAME - 2


def split(message: bytes) -> list[bytes]:
    """Split a message into frames of at most `MOST_FRAME` bytes.

    Raises:
        WireMismatch: the message is longer than `MOST_MESSAGE`.
    """
    if len(message) <= MOST_FRAME:
        return [message]
    check(message)
    starts = range(0, len(message), _PIECE)
    return [bytes((CUT, at != starts[-1])) + message[at : at + _PIECE] for at in starts]


def check(message: bytes) -> None:
    """Check the length of a message.

    Raises:
        WireMismatch: the message is longer than `MOST_MESSAGE`.
    """
    if len(message) > MOST_MESSAGE:
        raise WireMismatch(
            f"A message of {len(message) >> 20} MiB is too large: {MOST_MESSAGE >> 20} MiB is the most.",
            "Write large values to a file, or move them by push and pull.",
        )


def join(frames: Iterable[bytes]) -> Iterator[bytes]:
    """Reassemble the messages of frames that arrived together; an incomplete message is dropped."""
    pieces: list[bytes] = []
    size = 0
    for frame in frames:
        if len(frame) < 2 or frame[0] != CUT:
            yield frame
            continue
        pieces.append(frame[2:])
        size += len(frame)
        if size > MOST_MESSAGE:
            return
        if not frame[1]:
            yield b"".join(pieces)
            pieces, size = [], 0
