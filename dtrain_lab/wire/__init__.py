"""Messages between our processes: one msgspec Struct per message, msgpack on the wire.

A ZeroMQ message has one or more frames, each holding one message, so that a burst travels together and
the head can forward a frame without packing it again. `links` is the protocol between head, node agents
and ranks; `clients` that between the head and its clients. Pure: no socket here.
"""

from __future__ import annotations

VERSION = 2
"""Protocol version, incremented with every incompatible change. Client and head may differ by one; head,
node agents and ranks must have the same."""
