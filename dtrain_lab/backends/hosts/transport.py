"""The transport to a host, and what is asked through either kind."""

from __future__ import annotations

from dtrain_lab.backends.hosts.base import Transport
from dtrain_lab.backends.hosts.local_transport import LocalTransport
from dtrain_lab.backends.hosts.ssh_transport import SshTransport
from dtrain_lab.placement import quota
from dtrain_lab.wire.jobs.quota import FreeSpace


def transport(login: str | None) -> Transport:
    """Return the transport to a login node, or to this machine for None."""
    return LocalTransport() if login is None else SshTransport(login)


async def free_space(host: Transport, folder: str) -> FreeSpace:
    """Return the free space and quota at a folder, which need not exist yet.

    Args:
        host: Transport to the machine.
        folder: Absolute path of the folder.
    """
    done = await host.run(["bash", "-c", quota.SCRIPT, "bash", folder])
    return quota.read(done.out.decode(errors="replace"), folder)
