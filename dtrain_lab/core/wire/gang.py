"""What the hosts of a job say to its first one before it starts, and what that answers."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from dtrain_lab.core.cluster import Reason
from dtrain_lab.core.endpoints import Keys


class GangKeys(Struct, frozen=True):
    """CURVE keys of a gang, Z85: in a file of the job's folder, on each of its hosts, for its user only."""

    keys: Keys
    secret: str
    """Of the first host, which listens."""


class Word(Struct, frozen=True, tag_field="k"):
    """Base of all."""


class Waits(Word, frozen=True, tag="waits"):
    """There is no room on this host yet."""

    node: int
    reason: Reason


class Holds(Word, frozen=True, tag="holds"):
    """This host has room, and keeps it for the job.

    `hold`: how often it has taken room so far, from 1: what was said of an earlier one counts no more.
    `returns`: it asks to give that back.
    """

    node: int
    hold: int
    returns: bool = False


class Asks(Word, frozen=True, tag="asks"):
    """This host goes, and does not know yet how the job's head is reached; `knows`: now it does."""

    node: int
    knows: bool = False


class Go(Word, frozen=True, tag="go"):
    """All hosts have room. `port`: the first that ranks may meet at."""

    port: int


class Return(Word, frozen=True, tag="return"):
    """Give back what is held, if that is still this hold."""

    hold: int


class Heard(Word, frozen=True, tag="heard"):
    """The first host is there."""


class HeadFound(Word, frozen=True, tag="head"):
    """How the job's head is reached: the contents of the file that its first host has."""

    endpoints: bytes


Stands = Waits | Holds
Said = Stands | Asks
Answer = Go | Return | Heard | HeadFound

_ENCODER = msgspec.msgpack.Encoder()
_SAID = msgspec.msgpack.Decoder(Said)
_ANSWER = msgspec.msgpack.Decoder(Answer)


def encode(word: Word) -> bytes:
    """For the wire."""
    return _ENCODER.encode(word)


def said(data: bytes) -> Said:
    """What a host said.

    Raises:
        msgspec.DecodeError: it is none of ours.
    """
    found: Said = _SAID.decode(data)
    return found


def answer(data: bytes) -> Answer:
    """What the first host answers.

    Raises:
        msgspec.DecodeError: it is none of ours.
    """
    found: Answer = _ANSWER.decode(data)
    return found
