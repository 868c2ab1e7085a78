"""Results on disk while a call runs, one file per chunk: after a crash, the next call continues from them."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path
from typing import Any

import msgspec

from dtrain_lab.errors import BadRequest
from dtrain_lab.jobs import environment_variables
from dtrain_lab.machine import atomic_files
from dtrain_lab.training.checkpoint import checkpoint_dir
from dtrain_lab.training.inference.batch_shares import Batches, in_order
from dtrain_lab.training.inference.results import arrow_files, columns
from dtrain_lab.training.inference.results.output_parts import Output

STATE = "state.json"
SUFFIX = ".arrow"


class State(msgspec.Struct, frozen=True):
    """Identity of parts: results of other samples, batches, parameters or code are not continued."""

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
"""Text for each field of `State` that differs from the parts' state."""


def folder_of(output: Path, name: str) -> Path:
    """Folder of the parts of a file.

    It is beside the file, where the next call finds it from any notebook or cluster. In a job it is beside
    the checkpoints, because a resumed job has the same checkpoints but another working directory.

    Args:
        output: absolute path of the file.
        name: the path as the user wrote it: a resumed job has another working directory.
    """
    if os.environ.get(environment_variables.FOLDER):
        return checkpoint_dir() / f"predict-{output.stem}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
    return output.with_name(f".{output.name}.parts")


class Parts:
    """Parts of one file.

    Args:
        folder: their folder, the same for all ranks.
        state: their identity.
        batches: those of the whole dataset.
    """

    def __init__(self, folder: Path, state: State, batches: Batches) -> None:
        self.folder = folder
        self._state = state
        self._batches = batches
        self.dropped = ""
        """Why existing results are not continued; empty if there were none."""

    def open(self) -> list[range]:
        """Prepare the folder, and remove other results; called on one rank only.

        Returns:
            Batches whose results exist.
        """
        if self.folder.exists() and (state := self._read_state()) != self._state:
            if state is not None and self._files():
                differ = [
                    why for name, why in CHANGED.items() if getattr(state, name) != getattr(self._state, name)
                ]
                self.dropped = " and ".join(differ)
            shutil.rmtree(self.folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        atomic_files.replace(self.folder / STATE, msgspec.json.encode(self._state))
        for left in self.folder.glob(".*"):  # left by a rank that was killed while writing
            left.unlink()
        return [done for path in self._files() if (done := self._done(path)) is not None]

    def is_shared(self) -> bool:
        """Whether this rank sees the folder that one rank has prepared."""
        return self._read_state() == self._state

    def writer(self, rank: int) -> Writer:
        """Writes the results of neighbouring batches of a rank; used as a context manager."""
        return Writer(self.folder, rank)

    def assemble(self, output: Path) -> None:
        """Join all parts, in order, into one file, and remove them; called on one rank only.

        Raises:
            BadRequest: They can't be joined; they are removed.
        """
        spans = in_order([_span(path) for path in self._files()])
        try:
            arrow_files.join([self.folder / _name(span) for span in spans], output)
        except BadRequest:
            shutil.rmtree(self.folder)
            raise
        shutil.rmtree(self.folder)

    def _read_state(self) -> State | None:
        try:
            return msgspec.json.decode((self.folder / STATE).read_bytes(), type=State)
        except (OSError, msgspec.MsgspecError):
            return None

    def _files(self) -> list[Path]:
        return sorted(path for path in self.folder.glob(f"*{SUFFIX}") if not path.name.startswith("."))

    def _done(self, path: Path) -> range | None:
        """Batches of a file; None if it was damaged or contained no whole batches, and was removed."""
        try:
            span = _span(path)
            if arrow_files.count(path) == len(span) and (batches := self._batches.whole(span)) is not None:
                return batches
        except (ValueError, OSError):  # pyarrow's errors are ValueErrors
            pass
        path.unlink()
        return None


class Writer:
    """Files of one chunk, usually one; written batch by batch, so that no more than one is in memory.

    A file gets its name when it is complete and on disk: at the end of the block, or when a batch has columns
    of other types.
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
            self._file = arrow_files.writer(self._hidden, batch.schema)
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
            arrow_files.sync(self._hidden)
            atomic_files.publish(self._hidden, self._folder / _name(self._span))


def _name(span: range) -> str:
    return f"{span.start:012d}-{span.stop:012d}{SUFFIX}"


def _span(path: Path) -> range:
    start, _, stop = path.stem.partition("-")
    return range(int(start), int(stop))
