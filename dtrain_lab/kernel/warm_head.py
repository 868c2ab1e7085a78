"""A head without ranks that a kernel starts in the background, so that the notebook's next start is quick."""

from __future__ import annotations

import sys

from dtrain_lab.api.portal import Portal
from dtrain_lab.errors import DtrainError
from dtrain_lab.services.policy import policy
from dtrain_lab.services.policy.options import of_environment


def allowed() -> bool:
    """Return whether the user and the administrator allow it."""
    return of_environment().warm and policy.of_server().warm


def start(portal: Portal) -> None:
    """Start one, unless it is not allowed or a cluster runs already.

    Args:
        portal: The portal of this kernel.
    """
    if not allowed() or portal.worlds.running():
        return

    async def started() -> None:
        try:
            await portal.worlds.warm_heads.start(python=sys.executable)
        except DtrainError:
            return  # a start that the user requests will report the error

    portal.post(started())
