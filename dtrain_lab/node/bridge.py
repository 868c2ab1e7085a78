"""Connects its stdin and stdout to a socket of this node: the remote end of `backends.hosts.bridge`."""

from __future__ import annotations

import os
import select
import socket
import sys

PIECE = 1 << 16


def main(arguments: list[str]) -> int:
    """Copy bytes in both directions until either side closes.

    Args:
        arguments: `bridge TARGET`, where TARGET is "unix:PATH" or "tcp:ADDRESS:PORT".
    """
    target = arguments[1]
    kind, _, rest = target.partition(":")
    if kind == "unix":
        far = socket.socket(socket.AF_UNIX)
        far.connect(rest)
    else:
        address, _, port = rest.rpartition(":")
        far = socket.create_connection((address.strip("[]"), int(port)))
    near_in, near_out = sys.stdin.fileno(), sys.stdout.fileno()
    while True:
        ready, _, _ = select.select([near_in, far], [], [])
        if near_in in ready:
            piece = os.read(near_in, PIECE)
            if not piece:
                return 0
            far.sendall(piece)
        if far in ready:
            piece = far.recv(PIECE)
            if not piece:
                return 0
            while piece:
                piece = piece[os.write(near_out, piece) :]
