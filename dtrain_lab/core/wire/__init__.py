"""Messages between our processes: one msgspec Struct per message, msgpack on the wire.

A ZeroMQ message is one or more frames, each frame one message, so that a burst travels together and
the head can pass a frame on without packing it again. `links` is spoken between head, node agents and
ranks; `doors` between the head and whoever a person uses. Pure: no socket here.
"""

from __future__ import annotations

VERSION = 1
"""Grows with every incompatible change. Doors and heads may differ by one; links may not differ."""
