"""Gang protocol: how the hosts of a job agree with its first host to start together."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from dtrain_lab.wire.cluster import Reason
from dtrain_lab.wire.codec import decode
from dtrain_lab.wire.processes.endpoints import Keys


class GangKeys(Struct, frozen=True):
    """CURVE keys of a gang, in Z85.

    Each host has them in a file of the job's folder that only its user can read.
    """

    keys: Keys
    secret: str
    """Secret key of the first host, which listens."""


class Word(Struct, frozen=True, tag_field="k"):
    """Base of the gang's messages."""


class Waits(Word, frozen=True, tag="waits"):
    """This host has no free slots for the job yet."""

    node: int
    reason: Reason


class Holds(Word, frozen=True, tag="holds"):
    """This host has reserved slots for the job.

    `hold`: number of the reservation, from 1; messages about an earlier one are ignored. `returns`: the host
    asks to give the reservation back.
    """

    node: int
    hold: int
    returns: bool = False


class Asks(Word, frozen=True, tag="asks"):
    """This host has started and asks for the endpoints of the job's head; `knows`: it has them now."""

    node: int
    knows: bool = False


class Go(Word, frozen=True, tag="go"):
    """All hosts have reserved slots: start. `port`: the first port for the ranks' rendezvous."""

    port: int


class Return(Word, frozen=True, tag="return"):
    """Release the reservation, if it still has this number."""

    hold: int


class Heard(Word, frozen=True, tag="heard"):
    """Acknowledgement of the first host."""


class HeadFound(Word, frozen=True, tag="head"):
    """The endpoints of the job's head: the contents of the file on its first host."""

    endpoints: bytes


Stands = Waits | Holds
Said = Stands | Asks
Answer = Go | Return | Heard | HeadFound

_ENCODER = msgspec.msgpack.Encoder()
_said = decode.decoder(Said, "A host of the job")
_answer = decode.decoder(Answer, "The job's first host")


def encode(word: Word) -> bytes:
    """Encode a message as msgpack."""
    return _ENCODER.encode(word)


def said(data: bytes) -> Said:
    """Decode a message of a host.

    Raises:
        WireMismatch: it is not a message of this protocol.
    """
    found: Said = _said(data)
    return found


def answer(data: bytes) -> Answer:
    """Decode an answer of the first host.

    Raises:
        WireMismatch: it is not a message of this protocol.
    """
    found: Answer = _answer(data)
    return found
