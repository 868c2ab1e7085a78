"""Two hosts on this machine, as network namespaces, with a slow wire between them; needs root and `tc`."""

from __future__ import annotations

import subprocess

FIRST, SECOND = "dtb0", "dtb1"


def ip(*arguments: str) -> None:
    """Run `ip`, as root."""
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


def make_network(rate: str) -> None:
    """Make both hosts, with a wire of this rate between them."""
    for space in (FIRST, SECOND):
        ip("netns", "add", space)
        ip("-n", space, "link", "set", "lo", "up")
    ip("link", "add", FIRST, "netns", FIRST, "type", "veth", "peer", "name", SECOND, "netns", SECOND)
    for number, space in enumerate((FIRST, SECOND), start=1):
        ip("-n", space, "addr", "add", f"10.77.0.{number}/24", "dev", space)
        ip("-n", space, "link", "set", space, "up")
        subprocess.run(
            ["ip", "netns", "exec", space, "tc", "qdisc", "add", "dev", space, "root", "tbf",
             "rate", rate, "burst", "256kb", "latency", "400ms"],
            check=True, capture_output=True,
        )  # fmt: skip


def remove_network() -> None:
    """Remove both hosts."""
    for space in (FIRST, SECOND):
        subprocess.run(["ip", "netns", "del", space], capture_output=True, check=False)
