"""`%load_ext dtrain_lab`."""

from __future__ import annotations

from typing import Any

from dtrain_lab.kernel.complete import RankNames
from dtrain_lab.kernel.magics import DistributedMagics


def load(shell: Any) -> None:
    """Put the magics into a shell, and warm a head for the first cell."""
    if any(isinstance(m, DistributedMagics) for m in shell.magics_manager.registry.values()):
        return  # the panel was here first
    magics = DistributedMagics(shell)
    shell.register_magics(magics)
    kernel = getattr(shell, "kernel", None)
    if kernel is not None:
        RankNames(kernel, magics.session)
        if getattr(kernel, "debugger", None) is not None:
            from dtrain_lab.kernel.debugger import KernelDebugger

            magics.session.debugger = KernelDebugger(kernel, magics.session.portal, magics.session.notebook)
    magics.session.warm()


def unload(shell: Any) -> None:
    """Take the magics out; clusters live as their leases say."""
    magics = shell.magics_manager.registry.pop(DistributedMagics.__name__, None)
    if magics is not None and magics.session.debugger is not None:
        magics.session.debugger.take_out()
    for kind in ("line", "cell"):
        shell.magics_manager.magics[kind].pop("distributed", None)
