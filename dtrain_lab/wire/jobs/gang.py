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


class GangMessage(Struct, frozen=True, tag_field="k"):
    """Base of the gang's messages."""


class Queued(GangMessage, frozen=True, tag="waits"):
    """This host has no free slots for the job yet."""

    node: int
    reason: Reason


class Reserved(GangMessage, frozen=True, tag="holds"):
    """This host has reserved slots for the job.

    `hold`: number of the reservation, from 1; messages about an earlier one are ignored. `returns`: the host
    asks to give the reservation back.
    """

    node: int
    hold: int
    returns: bool = False


class EndpointsQuery(GangMessage, frozen=True, tag="asks"):
    """This host has started and asks for the endpoints of the job's head; `knows`: it has them now."""

    node: int
    knows: bool = False


class Start(GangMessage, frozen=True, tag="go"):
    """All hosts have reserved slots: start. `port`: the first port for the ranks' rendezvous."""

    port: int


class ReleaseReservation(GangMessage, frozen=True, tag="return"):
    """Release the reservation, if it still has this number."""

    hold: int


class Acknowledged(GangMessage, frozen=True, tag="heard"):
    """Acknowledgement of the first host."""


class HeadFound(GangMessage, frozen=True, tag="head"):
    """The endpoints of the job's head: the contents of the file on its first host."""

    endpoints: bytes


SlotsReport = Queued | Reserved
HostMessage = SlotsReport | EndpointsQuery
Answer = Start | ReleaseReservation | Acknowledged | HeadFound

_ENCODER = msgspec.msgpack.Encoder()
_host_message = decode.decoder(HostMessage, "A host of the job")
_answer = decode.decoder(Answer, "The job's first host")


def encode(message: GangMessage) -> bytes:
    """Encode a message as msgpack."""
    return _ENCODER.encode(message)


def host_message(data: bytes) -> HostMessage:
    """Decode a message of a host.

    Raises:
        WireMismatch: it is not a message of this protocol.
    """
    message: HostMessage = _host_message(data)
    return message


def answer(data: bytes) -> Answer:
    """Decode an answer of the first host.

    Raises:
        WireMismatch: it is not a message of this protocol.
    """
    decoded: Answer = _answer(data)
    return decoded
