"""Who has ended a cluster, and when."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

EndedBy = Literal["server", "kernel", "terminal", "python", "shutdown", "idle", "killed", ""]
"""The kind of client that has stopped it, as of a lease ("server" is the panel); or its idle limit; or
"shutdown", the end of the Jupyter server that held it; or nobody: its head was killed."""


SUFFIX = ".ended"
"""Ending of the file beside a head's record in which a client, or the head, notes how its cluster ended."""
CELLS_SUFFIX = ".cells"
"""Ending of the file beside a head's record in which it leaves how the last runs of its cells ended."""


class Ending(Struct, frozen=True):
    """The end of a cluster that somebody, or its idle limit, has stopped, or whose head was killed.

    `notebook`: path of the notebook that has stopped it. `at`: in seconds since 1970. `idle_s`: for how long
    no cell ran, if that was the reason. `name`, `log`: if the head was killed, the cluster's name, and the
    path of a copy of the head's log, if there is one; `at` is then when it was found.
    """

    by: EndedBy = ""
    notebook: str | None = None
    at: float = 0.0
    idle_s: float = 0.0
    name: str = ""
    log: str = ""
