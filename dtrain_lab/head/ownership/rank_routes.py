"""Routes the head's messages to ranks: directly in a cluster, through the rank's agent in a job."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from dtrain_lab.wire import links
from dtrain_lab.wire.clients import NOT_YET


class RankRoutes:
    """Rank → the peer of the link through which it is reached.

    Args:
        send: Sends frames to one peer of the link.
        read_last: Reads what a peer has sent, and closes the connection to it.
    """

    def __init__(
        self, send: Callable[[bytes, list[bytes]], object], read_last: Callable[[bytes], None]
    ) -> None:
        self._send = send
        self._read_last = read_last
        self._peers: dict[int, bytes] = {}
        self._joined: set[int] = set()

    @property
    def ranks(self) -> tuple[int, ...]:
        """Ranks that can be reached now."""
        return tuple(sorted(self._peers))

    def of(self, rank: int) -> bytes | None:
        """The peer through which a rank is reached; None if there is none now."""
        return self._peers.get(rank)

    def joined(self, rank: int, peer: bytes) -> None:
        """A rank can be reached from now on.

        Args:
            rank: Number of the rank.
            peer: Socket identity under which it is reached: its own, or its agent's.
        """
        self._peers[rank] = peer
        self._joined.add(rank)

    def gone(self, rank: int) -> None:
        """A rank can't be reached any more."""
        self._peers.pop(rank, None)

    def read_last(self, rank: int) -> None:
        """Read what a rank that has ended still sent, before its end is handled."""
        peer = self._peers.get(rank)
        if peer is not None:
            self._read_last(peer)

    def absent(self, rank: int) -> str:
        """Why a rank can't be reached, as a phrase to follow its name."""
        return "has ended" if rank in self._joined else NOT_YET

    def to_rank(self, rank: int, message: links.Message) -> None:
        """Send a message to a rank; dropped where the rank is gone."""
        peer = self._peers.get(rank)
        if peer is not None:
            self.to_peer(peer, message)

    def to_ranks(self, ranks: Iterable[int], message: links.Message) -> None:
        """Send the same message to several ranks; those that are gone get none."""
        frames = [links.encode(message)]
        for rank in ranks:
            peer = self._peers.get(rank)
            if peer is not None:
                self._send(peer, frames)

    def to_peer(self, peer: bytes, message: links.Message) -> None:
        """Send a message to a peer of the link."""
        self._send(peer, [links.encode(message)])
