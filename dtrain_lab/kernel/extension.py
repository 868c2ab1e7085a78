"""IPython extension hooks for `%load_ext dtrain_lab`."""

from __future__ import annotations

from typing import Any

from dtrain_lab.api.advise import set_current_cluster
from dtrain_lab.kernel import warm_head
from dtrain_lab.kernel.completion import RankNames
from dtrain_lab.kernel.magics import DistributedMagics
from dtrain_lab.kernel.output.restoring import Restoring


def load(shell: Any) -> None:
    """Register the magics in a shell, and warm a head for the first cell."""
    if any(isinstance(m, DistributedMagics) for m in shell.magics_manager.registry.values()):
        return  # already loaded by the panel
    magics = DistributedMagics(shell)
    shell.register_magics(magics)
    set_current_cluster(magics.session.looked_at)
    kernel = getattr(shell, "kernel", None)
    if kernel is not None:
        RankNames(kernel, magics.session)
        magics.session.restoring = Restoring(kernel, magics.session.portal)
        if getattr(kernel, "debugger", None) is not None:
            from dtrain_lab.kernel.debugger.debugger import KernelDebugger

            magics.session.debugger = KernelDebugger(kernel, magics.session.portal, magics.session.notebook)
    warm_head.start(magics.session.portal)


def unload(shell: Any) -> None:
    """Unregister the magics; clusters live on as their leases say."""
    magics = shell.magics_manager.registry.pop(DistributedMagics.__name__, None)
    if magics is not None and magics.session.debugger is not None:
        magics.session.debugger.take_out()
    if magics is not None and magics.session.restoring is not None:
        magics.session.restoring.take_out()
    for kind in ("line", "cell"):
        shell.magics_manager.magics[kind].pop("distributed", None)
