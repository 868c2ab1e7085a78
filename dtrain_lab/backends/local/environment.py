"""Environment variables of a world on this machine."""

from __future__ import annotations

import os
from pathlib import Path

from dtrain_lab.errors import BadProfile
from dtrain_lab.placement import activation
from dtrain_lab.wire.profile import Environment

SECRET = (
    "JUPYTERHUB_API_TOKEN",
    "JPY_API_TOKEN",
    "JUPYTER_TOKEN",
    "CONFIGPROXY_AUTH_TOKEN",
    "JUPYTERHUB_OAUTH",
)


def variables(profile: Environment) -> dict[str, str]:
    """Return the variables of head, agents and ranks: this process's without secrets, then the profile's.

    Raises:
        BadProfile: The file of a secret can't be read.
    """
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(SECRET)}
    return {**inherited, **profile.variables, **_secrets(profile.secrets)}


def _secrets(paths: dict[str, str]) -> dict[str, str]:
    read = {}
    for name, path in paths.items():
        try:
            read[name] = Path(path).expanduser().read_text().rstrip("\n")
        except (OSError, ValueError) as error:
            raise BadProfile(
                f"{activation.no_secret(name, path, 'this machine')}: "
                f"{error.strerror if isinstance(error, OSError) else 'it is not text'}.",
                "Write the value into that file, readable by you only (chmod 600), or name another.",
                code="no_secret",
            ) from error
    return read
