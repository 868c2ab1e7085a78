"""The cluster that a kernel's notebook uses, recorded for its next kernel and for the server."""

from __future__ import annotations

import atexit

from dtrain_lab.services import notebook_clusters
from dtrain_lab.wire.site import KernelUse


class NotebookCluster:
    """The cluster that a kernel's notebook uses, recorded for its next kernel and for the server.

    Args:
        notebook: Path of the notebook; None in a terminal's IPython.
        kernel: The server's id of the kernel; None if no server started it.
    """

    def __init__(self, notebook: str | None, kernel: str | None) -> None:
        self.notebook = notebook
        self._kernel = kernel
        self.now: notebook_clusters.UsedCluster | None = None
        """The cluster that this kernel has used last."""
        self._tell(None)
        if kernel is not None:
            atexit.register(notebook_clusters.forget, kernel)

    @property
    def recorded(self) -> notebook_clusters.UsedCluster | None:
        """What this or the notebook's previous kernel, or the panel, has recorded."""
        return notebook_clusters.last(self.notebook) if self.notebook is not None else None

    def uses(self, used: notebook_clusters.UsedCluster) -> None:
        """Record that the kernel uses a cluster."""
        self.now = used
        if self.notebook is not None:
            notebook_clusters.remember(self.notebook, self.now)
        self._tell(used.cluster)

    def _tell(self, cluster: str | None) -> None:
        """A page gets this from the server, because the kernel may be busy."""
        if self._kernel is not None:
            notebook_clusters.tell(self._kernel, KernelUse(self.notebook, cluster))
