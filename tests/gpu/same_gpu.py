"""Two ranks with NCCL on a machine with one GPU: to each other they are on different hosts.

NCCL refuses two ranks on one GPU of one host, and takes NCCL_HOSTID for the host. The driver's library shows
the GPU twice, so that the plan gives each rank one of its own. All else is real: driver, NCCL, its sockets.
Ranks take turns on the GPU, so nothing here says how fast NCCL is.
"""

from __future__ import annotations

from pathlib import Path

LIBRARY = """
import importlib.machinery
import importlib.util
import sys
from pathlib import Path

elsewhere = [p for p in sys.path if Path(p or ".").resolve() != Path(__file__).parent]
_spec = importlib.machinery.PathFinder.find_spec("pynvml", elsewhere)
_real = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_real)
globals().update({k: v for k, v in vars(_real).items() if not k.startswith("__")})


def nvmlDeviceGetCount():
    return 2


def nvmlDeviceGetHandleByIndex(index):
    if index > 1:
        raise _real.NVMLError(_real.NVML_ERROR_INVALID_ARGUMENT)
    return _real.nvmlDeviceGetHandleByIndex(0)
"""
RANKS = '''
import importlib.abc
import sys


class Finder(importlib.abc.MetaPathFinder):
    """A rank that chooses GPU 1 gets GPU 0 and a host of its own."""

    def find_spec(self, name, path=None, target=None):
        if name != "dtrain_lab.rank.main":
            return None
        import os

        import torch

        usual = torch.cuda.set_device

        def set_device(device):
            os.environ["NCCL_HOSTID"] = f"host-of-{device}"
            usual(0)

        torch.cuda.set_device = set_device
        return None


sys.meta_path.insert(0, Finder())
'''
PROFILE = """
[environment]
variables = {{ PYTHONPATH = "{folder}", NCCL_SOCKET_IFNAME = "lo", NCCL_IB_DISABLE = "1" }}
"""


def write(folder: Path, profiles: Path) -> None:
    """Write the profile `pair`.

    Args:
        folder: for the library and the ranks' start.
        profiles: folder of profiles.
    """
    (folder / "pynvml.py").write_text(LIBRARY)
    (folder / "sitecustomize.py").write_text(RANKS)
    profiles.mkdir(parents=True, exist_ok=True)
    (profiles / "pair.toml").write_text(PROFILE.format(folder=folder))
