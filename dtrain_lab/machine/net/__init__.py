"""Sockets of this machine: unix streams, ZeroMQ contexts, keys, addresses."""
