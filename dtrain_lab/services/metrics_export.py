"""Export of a world's metric history as CSV, JSON or a TensorBoard event file."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, get_args

import msgspec

from dtrain_lab.errors import BadRequest
from dtrain_lab.metrics.history import scalars, to_csv
from dtrain_lab.wire.metrics.history import Point

Format = Literal["json", "csv", "tensorboard"]
TYPES: dict[str, str] = {
    "json": "application/json",
    "csv": "text/csv; charset=utf-8",
    "tensorboard": "application/octet-stream",
}


def export(points: Sequence[Point], kind: str) -> tuple[bytes, str]:
    """Encode points in a file format.

    Args:
        points: Points, oldest first.
        kind: "json", "csv" or "tensorboard" (an event file).

    Returns:
        The file's content, and a name for it.

    Raises:
        BadRequest: The format is unknown.
    """
    match kind:
        case "json":
            return msgspec.json.encode(list(points)), "metrics.json"
        case "csv":
            return to_csv(points).encode(), "metrics.csv"
        case "tensorboard":
            return _events(points)
        case _:
            raise BadRequest(f'There is no format "{kind}".', f"One of {', '.join(get_args(Format))}.")


def _events(points: Sequence[Point]) -> tuple[bytes, str]:
    """Encode points as an event file, under the writer's name: TensorBoard finds it by the name's prefix."""
    from tensorboardX import SummaryWriter

    with tempfile.TemporaryDirectory() as folder:
        writer = SummaryWriter(folder)
        for tag, value, step, at in scalars(points):
            writer.add_scalar(tag, value, step, walltime=at)
        writer.close()
        file = next(Path(folder).glob("events.out.tfevents.*"))
        return file.read_bytes(), file.name


def write(points: Sequence[Point], path: Path) -> Path:
    """Write points to a file.

    Args:
        points: Points, oldest first.
        path: A `.csv` or `.json` file, or a folder for a TensorBoard event file.

    Returns:
        Path of the file.

    Raises:
        BadRequest: The suffix names no known format.
    """
    kind = {".csv": "csv", ".json": "json", "": "tensorboard"}.get(path.suffix)
    if kind is None:
        raise BadRequest(
            f"{path.name}: the file's extension names no known format.",
            "Use .csv or .json, or name a folder (TensorBoard).",
        )
    content, name = export(points, kind)
    target = path / name if kind == "tensorboard" else path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)
    return target
