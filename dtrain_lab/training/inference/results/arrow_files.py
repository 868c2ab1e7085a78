"""Arrow files: parts, and the file into which they are joined."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dtrain_lab.errors import BadRequest
from dtrain_lab.machine import atomic_files
from dtrain_lab.training.inference.results.columns import arrow

KINDS = (".parquet", ".arrow")


def check(output: Path) -> None:
    """Check that a file can be written.

    Raises:
        BadRequest: Its suffix names no supported format, or it is a folder.
        EnvironmentUnfit: pyarrow is not installed.
    """
    if output.suffix not in KINDS:
        raise BadRequest(
            f"dt.predict can't write {output.name}: it writes .parquet and .arrow.",
            f'Choose another name: output="{output.stem or "predictions"}.parquet"',
            code="unknown_format",
        )
    if output.is_dir():
        raise BadRequest(
            f"dt.predict can't write {output}: it is a folder.",
            "Name a file that does not exist, or that may be replaced.",
            code="unknown_format",
        )
    arrow()


def make_folder(output: Path) -> None:
    """Create the folder of an output file, and print a note; called on one rank only.

    A job starts in its own folder, which lacks those of the notebook.

    Raises:
        BadRequest: It can't be created.
    """
    if output.parent.is_dir():
        return
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadRequest(
            f"The folder of {output} can't be created: {error.strerror}.",
            "Choose another output.",
            code="no_folder",
        ) from error
    print(f"dt.predict created the folder {output.parent}.")


def writer(path: Path, schema: Any) -> Any:
    """A writer of record batches.

    Args:
        path: the file, in the Arrow IPC format.
        schema: columns of the table.
    """
    return arrow().ipc.new_file(str(path), schema)


def count(path: Path) -> int:
    """Number of rows of a part.

    Raises:
        OSError, ValueError: It is damaged.
    """
    pa = arrow()
    with pa.memory_map(str(path)) as file, pa.ipc.open_file(file) as reader:
        return sum(reader.get_batch(number).num_rows for number in range(reader.num_record_batches))


def sync(path: Path) -> None:
    """Wait until a file is on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def join(parts: Sequence[Path], output: Path) -> None:
    """Join parts into one file, in this order; it replaces an older file once it is on disk.

    One part is in memory at a time.

    Args:
        parts: files to join.
        output: the file to write.

    Raises:
        BadRequest: Two parts have different columns, or incompatible types of a column.
    """
    pa = arrow()
    schema = _schema(pa, parts)
    hidden = output.with_name(f".{output.name}.{os.getpid()}")
    parquet = output.suffix == ".parquet"
    with pa.parquet.ParquetWriter(str(hidden), schema) if parquet else writer(hidden, schema) as file:
        for path in parts:
            with pa.memory_map(str(path)) as source, pa.ipc.open_file(source) as reader:
                file.write_table(reader.read_all().combine_chunks().cast(schema))
    sync(hidden)
    atomic_files.publish(hidden, output)


def _schema(pa: Any, parts: Sequence[Path]) -> Any:
    schemas: list[Any] = []
    for path in parts:
        with pa.memory_map(str(path)) as source, pa.ipc.open_file(source) as reader:
            if not schemas or reader.schema != schemas[-1]:
                schemas.append(reader.schema)
    for other in schemas:
        if other.names != schemas[0].names:
            raise BadRequest(
                "The columns of the model's output differ between batches: "
                f"{', '.join(schemas[0].names)}, and {', '.join(other.names)}.",
                "Let the model return the same names for every batch; the next call starts over.",
                code="outputs_differ",
            )
    try:
        return pa.unify_schemas(schemas, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        kinds = {
            name: sorted({str(schema.field(name).type) for schema in schemas}) for name in schemas[0].names
        }
        changed = (f"{name} ({' and '.join(some)})" for name, some in kinds.items() if len(some) > 1)
        raise BadRequest(
            f"The model's output changes its type between batches: {', '.join(changed)}.",
            "Let the model return values of one type for every batch.",
            code="outputs_differ",
        ) from error
