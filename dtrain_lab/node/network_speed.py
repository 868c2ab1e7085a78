"""Measures TCP round trip and bandwidth between two nodes.

`python -m dtrain_lab.node speed ADDRESS PORT NONCE ROLE`: one side listens at ADDRESS, the other connects
to it and prints what it has measured. ROLE is `listen` or `connect`; or it is the variable with the number of
a scheduler's task, the first of which listens.
"""

from __future__ import annotations

import socket
import sys
import time
from statistics import median

import msgspec

from dtrain_lab.node import task_number
from dtrain_lab.wire.node_check import Speed

WITHIN_S = 15.0
"""Seconds to wait for the other node, which may start later."""
ROUND_TRIPS = 200
SMALL = 64
STREAM_S = 1.0
PIECE = 1 << 20


def listen(address: str, port: int, nonce: bytes) -> None:
    """Serve one peer that knows the nonce: echo its small messages, then receive its stream to the end.

    Args:
        address: IP address to listen at.
        port: TCP port.
        nonce: Secret that the peer has to send first.

    Raises:
        OSError: The port is taken, or no peer connected in time.
    """
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.create_server((address, port), family=family) as server:
        until = time.monotonic() + WITHIN_S
        while True:
            server.settimeout(max(0.01, until - time.monotonic()))
            peer, _ = server.accept()
            with peer:
                peer.settimeout(WITHIN_S)
                if _exactly(peer, len(nonce)) == nonce:
                    _answer(peer)
                    return


def connect(address: str, port: int, nonce: bytes) -> Speed:
    """Measure the connection to the listening node.

    Args:
        address: IP address of the node.
        port: TCP port.
        nonce: Secret that the node expects.

    Returns:
        Median round trip in seconds, and bandwidth in bytes per second.

    Raises:
        OSError: The node can't be reached.
    """
    until = time.monotonic() + WITHIN_S
    while True:
        try:
            peer = socket.create_connection((address, port), timeout=2.0)
            break
        except ConnectionRefusedError:  # not listening yet
            if time.monotonic() > until:
                raise
            time.sleep(0.05)
    with peer:
        peer.settimeout(WITHIN_S)
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        peer.sendall(nonce)
        trips = []
        for _ in range(ROUND_TRIPS):
            began = time.perf_counter()
            peer.sendall(bytes(SMALL))
            _exactly(peer, SMALL)
            trips.append(time.perf_counter() - began)
        piece, sent = bytes(PIECE), 0
        began = time.perf_counter()
        while time.perf_counter() - began < STREAM_S:
            peer.sendall(piece)
            sent += PIECE
        peer.shutdown(socket.SHUT_WR)
        _exactly(peer, 1)  # the other side has received everything
        return Speed(median(trips), sent / (time.perf_counter() - began))


def _answer(peer: socket.socket) -> None:
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for _ in range(ROUND_TRIPS):
        peer.sendall(_exactly(peer, SMALL))
    while peer.recv(PIECE):
        pass
    peer.sendall(b".")


def _exactly(peer: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = peer.recv(size - len(data))
        if not more:
            raise ConnectionError("the other node hung up")
        data += more
    return data


def main(arguments: list[str]) -> int:
    """Entry point: `speed ADDRESS PORT NONCE ROLE`."""
    address, port, nonce, role = arguments[1], int(arguments[2]), arguments[3].encode(), arguments[4]
    if role not in ("listen", "connect"):
        role = "connect" if task_number.of(role) else "listen"
    try:
        if role == "listen":
            listen(address, port, nonce)
        else:
            sys.stdout.buffer.write(msgspec.json.encode(connect(address, port, nonce)) + b"\n")
    except OSError as error:
        print(f"dtrain-lab: {address}, port {port}: {error}", file=sys.stderr)
        return 1
    return 0
