"""Packing and unpacking of messages and files: msgpack, JSON of other versions, large frames, clocks."""
