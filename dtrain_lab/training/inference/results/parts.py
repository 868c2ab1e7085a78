"""Results on disk while a call runs, one file per chunk: after a crash, the next call continues from them."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path
from typing import Any

import msgspec

from dtrain_lab.errors import BadRequest
from dtrain_lab.jobs.files import FOLDER_VARIABLE
from dtrain_lab.machine import durable
from dtrain_lab.training.checkpoint import checkpoint_dir
from dtrain_lab.training.inference.results import columns, tables
from dtrain_lab.training.inference.results.outputs import Output
from dtrain_lab.training.inference.shares import Batches, in_order

STATE = "state.json"
SUFFIX = ".arrow"


class State(msgspec.Struct, frozen=True):
    """What parts belong to: results of other samples, batches, parameters or code are not gone on with."""

    samples: int
    batch_size: int
    model: str
    code: str = ""


CHANGED = {
    "samples": "the length of the dataset has changed",
    "batch_size": "batch_size has changed",
    "model": "the model's parameters have changed",
    "code": "the code of the model, or what it reads, has changed",
}
"""What is said of each field of `State` that differs from that of parts."""


def folder_of(output: Path, name: str) -> Path:
    """Folder of the parts of a file.

    It lies beside the file, where the next call finds it whatever notebook or cluster it comes from. In a
    job it lies beside the checkpoints, as a resumed job has those and another working directory.

    Args:
        output: absolute path of the file.
        name: the path as the user wrote it: a resumed job has another working directory.
    """
    if os.environ.get(FOLDER_VARIABLE):
        return checkpoint_dir() / f"predict-{output.stem}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
    return output.with_name(f".{output.name}.parts")


class Parts:
    """Parts of one file.

    Args:
        folder: where they lie, the same for all ranks.
        state: what they belong to.
        batches: those of the whole dataset.
    """

    def __init__(self, folder: Path, state: State, batches: Batches) -> None:
        self.folder = folder
        self._state = state
        self._batches = batches
        self.dropped = ""
        """Why results that were there are not gone on with; empty if there were none."""

    def open(self) -> list[range]:
        """Make the folder ready, without what belongs to other results; for one rank alone.

        Returns:
            Batches whose results are there.
        """
        if self.folder.exists() and (known := self._known()) != self._state:
            if known is not None and self._files():
                differ = [
                    why for name, why in CHANGED.items() if getattr(known, name) != getattr(self._state, name)
                ]
                self.dropped = " and ".join(differ)
            shutil.rmtree(self.folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        durable.replace(self.folder / STATE, msgspec.json.encode(self._state))
        for left in self.folder.glob(".*"):  # of a rank that was killed while it wrote
            left.unlink()
        return [done for path in self._files() if (done := self._done(path)) is not None]

    def seen(self) -> bool:
        """Whether this rank sees the folder that one rank has made ready."""
        return self._known() == self._state

    def writer(self, rank: int) -> Writer:
        """Writes the results of neighbouring batches of a rank; used as a context manager."""
        return Writer(self.folder, rank)

    def assemble(self, output: Path) -> None:
        """Make one file of all parts, in order, and remove them; for one rank alone.

        Raises:
            BadRequest: They can't be one file, and never will; they are removed.
        """
        spans = in_order([_span(path) for path in self._files()])
        try:
            tables.join([self.folder / _name(span) for span in spans], output)
        except BadRequest:
            shutil.rmtree(self.folder)
            raise
        shutil.rmtree(self.folder)

    def _known(self) -> State | None:
        try:
            return msgspec.json.decode((self.folder / STATE).read_bytes(), type=State)
        except (OSError, msgspec.MsgspecError):
            return None

    def _files(self) -> list[Path]:
        return sorted(path for path in self.folder.glob(f"*{SUFFIX}") if not path.name.startswith("."))

    def _done(self, path: Path) -> range | None:
        """Batches of a file; None if it is damaged, or holds no whole batches, and is removed."""
        try:
            span = _span(path)
            if tables.count(path) == len(span) and (batches := self._batches.whole(span)) is not None:
                return batches
        except (ValueError, OSError):  # pyarrow's errors are ValueErrors
            pass
        path.unlink()
        return None


class Writer:
    """Files of one chunk, usually one; written batch by batch, so that no more than one is in memory.

    A file has its name once it is whole and on disk: where the block has ended, or a batch has columns of
    other types.
    """

    def __init__(self, folder: Path, rank: int) -> None:
        self._folder = folder
        self._hidden = folder / f".rank-{rank}"
        self._file: Any = None
        self._schema: Any = None
        self._span = range(0)

    def add(self, span: range, output: Output) -> None:
        """Append the results of a batch, whose samples follow those of the one before.

        Args:
            span: the samples.
            output: their results.
        """
        batch = columns.batch(output)
        if self._file is not None and batch.schema != self._schema:
            self._finish()
        if self._file is None:
            self._schema, self._span = batch.schema, range(span.start, span.start)
            self._file = tables.writer(self._hidden, batch.schema)
        self._file.write(batch)
        self._span = range(self._span.start, span.stop)

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._finish()
        elif self._file is not None:
            self._file.close()
            self._hidden.unlink()

    def _finish(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
            tables.sync(self._hidden)
            self._hidden.rename(self._folder / _name(self._span))
            durable.sync_folder(self._folder)


def _name(span: range) -> str:
    return f"{span.start:012d}-{span.stop:012d}{SUFFIX}"


def _span(path: Path) -> range:
    start, _, stop = path.stem.partition("-")
    return range(int(start), int(stop))
