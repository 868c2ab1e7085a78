"""The folder of a cluster on other machines; how its head gets its settings and reports where it listens."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from dtrain_lab.backends.base import Backend
from dtrain_lab.jobs import file_names as job_files
from dtrain_lab.wire.processes.submission import ClusterRecord


async def prepared(cluster: ClusterRecord, backend: Backend) -> tuple[ClusterRecord, dict[str, bytes]]:
    """Complete a cluster before its submission.

    Args:
        cluster: The cluster, with the settings of its head.
        backend: Its back-end.

    Returns:
        The cluster, and the files of its folder. Without a folder that its nodes share, the head gets its
        settings on its standard input, and prints where it listens.

    Raises:
        Unreachable, SignInNeeded: The host with the folder can't be asked.
    """
    settings = cluster.settings
    assert settings is not None
    if settings.remote is None:
        return cluster, {}
    if not backend.traits.shares_folder:
        remote = replace(settings.remote, endpoints="-")
        return replace(cluster, settings=replace(settings, remote=remote)), {}
    folder = f"{await backend.root(cluster.profile)}/worlds/{cluster.id}"
    remote = replace(
        settings.remote,
        endpoints=f"{folder}/{job_files.ENDPOINTS}",
        own_agent=not backend.traits.starts_agents,
    )
    settings = replace(settings, remote=remote, record=f"{folder}/record.json")
    cluster = replace(cluster, directory=folder, settings=settings)
    scripts = {name: text.encode() for name, text in backend.scripts(cluster).items()}
    return cluster, {job_files.HEAD: msgspec.json.encode(settings), **scripts}
