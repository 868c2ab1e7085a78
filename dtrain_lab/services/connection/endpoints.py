"""Reads the endpoints of a head on another machine from the folder that its nodes share."""

from __future__ import annotations

import msgspec

from dtrain_lab.backends.hosts.base import Transport
from dtrain_lab.errors import WireMismatch
from dtrain_lab.jobs import file_names as job_files
from dtrain_lab.wire.processes.endpoints import Endpoints, decode


async def read(files: Transport, directory: str, name: str) -> Endpoints | None:
    """Read the endpoints that a head has written; None while there is no such file.

    Args:
        files: Reads the head's files.
        directory: The head's folder.
        name: Name of the cluster or job, for the error.

    Raises:
        DtrainError: The host of the files can't be reached.
        WireMismatch: The file can't be read.
    """
    text = await files.read(f"{directory}/{job_files.ENDPOINTS}")
    if not text:
        return None
    try:
        return decode(text)
    except msgspec.DecodeError as error:
        raise WireMismatch(
            f"The address of the head of {name} can't be read: {error}.", "See head.log in its folder."
        ) from error
