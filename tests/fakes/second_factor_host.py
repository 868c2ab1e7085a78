"""A host that lets nobody in without a code: a real SSH server, which runs what it is asked to.

`python -m tests.fakes.second_factor_host FOLDER` serves on loopback until its stdin ends.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import asyncssh

CODE = "271828"


class Guarded(NamedTuple):
    """Its entry for an ssh configuration, and the file of what people answered."""

    entry: str
    told: Path

    @property
    def answers(self) -> list[str]:
        """What people answered so far."""
        return self.told.read_text().splitlines() if self.told.exists() else []


@contextmanager
def second_factor_host(folder: Path) -> Iterator[Guarded]:
    """Start the host; it ends with the test."""
    command = [sys.executable, "-m", "tests.fakes.second_factor_host", str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        entry = (
            f"Host guarded\n  HostName 127.0.0.1\n  Port {port}\n  User root\n"
            f"  UserKnownHostsFile {folder}/known\n"
        )
        yield Guarded(entry, folder / "told")
        process.communicate(timeout=20)


class Doorkeeper(asyncssh.SSHServer):
    """Asks for the code; notes what it was told."""

    def __init__(self, told: Path) -> None:
        self.told = told

    def begin_auth(self, username: str) -> bool:
        """Everybody has to say it."""
        return True

    def kbdint_auth_supported(self) -> bool:
        """No key would do."""
        return True

    def get_kbdint_challenge(self, username: str, lang: str, submethods: str) -> Any:
        """The question."""
        return "Two-step sign-in", "From your telephone.", "en-US", [("One-time code:", False)]

    def unix_connection_requested(self, dest_path: str) -> bool:
        """Sockets of clusters are forwarded."""
        return True

    def validate_kbdint_response(self, username: str, responses: Any) -> bool:
        """Is it the code?"""
        with self.told.open("a") as file:
            file.writelines(f"{response}\n" for response in responses)
        return list(responses) == [CODE]


async def run(process: asyncssh.SSHServerProcess[bytes]) -> None:
    """What a host does with a command."""
    pipe = asyncio.subprocess.PIPE
    child = await asyncio.create_subprocess_shell(
        process.command or "true", stdin=pipe, stdout=pipe, stderr=pipe
    )
    assert child.stdin is not None

    async def copy(source: Any, sink: Any) -> None:
        while data := await source.read(65536):
            sink.write(data)

    async def feed() -> None:
        await copy(process.stdin, child.stdin)
        child.stdin.close()

    feeding = asyncio.create_task(feed())
    await asyncio.gather(copy(child.stdout, process.stdout), copy(child.stderr, process.stderr))
    process.exit(await child.wait())
    feeding.cancel()


async def main(folder: Path) -> None:
    """Serve until stdin ends."""
    key = asyncssh.generate_private_key("ssh-ed25519")
    server = await asyncssh.create_server(
        lambda: Doorkeeper(folder / "told"),
        "127.0.0.1",
        0,
        server_host_keys=[key],
        process_factory=run,
        encoding=None,
    )
    port = server.get_port()
    (folder / "known").write_text(f"[127.0.0.1]:{port} {key.export_public_key().decode()}")
    print(port, flush=True)
    await asyncio.to_thread(sys.stdin.read)
    server.close()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
