"""An environment with a framework in name only, and without torch: what profiles of other frameworks name."""

from __future__ import annotations

import sys
import venv
from importlib import metadata, util
from pathlib import Path

LIGHT = ("dtrain_lab", "cloudpickle", "msgspec", "psutil", "pynvml", "zmq")
PACKAGES = ("dtrain-lab", "cloudpickle", "msgspec", "psutil", "nvidia-ml-py", "pyzmq")


def without_torch(folder: Path, framework: str = "tensorflow", version: str = "2.99.0") -> Path:
    """Make the environment, with what ranks of another framework need of dtrain-lab's own packages.

    Args:
        folder: where to make it.
        framework: a package that can be imported there, and does nothing.
        version: its version.
    """
    venv.create(folder, symlinks=True)
    site = folder / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    for name in LIGHT:
        origin = Path(str(util.find_spec(name).origin))  # type: ignore[union-attr]
        source = origin.parent if origin.name == "__init__.py" else origin
        (site / source.name).symlink_to(source)
        for library in source.parent.glob("pyzmq.libs") if name == "zmq" else ():
            (site / library.name).symlink_to(library)
    for name in PACKAGES:
        found = metadata.distribution(name)._path  # type: ignore[attr-defined]
        (site / found.name).symlink_to(found)
    (site / framework).mkdir()
    (site / framework / "__init__.py").touch()
    info = site / f"{framework}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {framework}\nVersion: {version}\n")
    return folder
