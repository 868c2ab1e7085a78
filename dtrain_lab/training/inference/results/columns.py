"""A batch's output as columns of a table. pyarrow is loaded when results go to a file."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import torch

from dtrain_lab.errors import BadRequest, EnvironmentUnfit
from dtrain_lab.training.inference.results.output_parts import Output, Part, title


def arrow() -> ModuleType:
    """The pyarrow package.

    Raises:
        EnvironmentUnfit: It is not installed where this rank runs.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise EnvironmentUnfit(
            "dt.predict writes files with pyarrow, which is not installed in the ranks' environment.",
            'Install it with: pip install "dtrain-lab[inference]"',
            code="no_pyarrow",
        ) from error
    return pyarrow  # type: ignore[no-any-return]


def batch(output: Output) -> Any:
    """A record batch of a batch's output, with one row per sample.

    Raises:
        BadRequest: A part belongs to the whole batch, or its values have no Arrow type.
    """
    pa = arrow()
    names, columns = [], []
    for path, part in output.items():
        name = title(path)
        if name in names:
            raise BadRequest(
                f"Two parts of the model's output would be the column {name}.",
                "Rename one of them.",
                code="two_columns",
            )
        names.append(name)
        columns.append(_column(pa, name, part))
    return pa.RecordBatch.from_arrays(columns, names=names)


def _column(pa: ModuleType, name: str, part: Part) -> Any:
    if part.kind == "rows":
        return _nested(pa, part.value)
    if part.kind == "whole":
        raise BadRequest(
            f"{name} of the model's output can't be a column: a batch has one {type(part.value).__name__}.",
            "Let the model return a tensor or a list with a value for each sample.",
            code="no_column",
        )
    try:
        return pa.array([_plain(value) for value in part.value])
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError) as error:
        kinds = {type(value).__name__ for value in part.value}
        why = f"are of the type {' or '.join(sorted(kinds))}"
        if isinstance(error, OverflowError):
            why = "are larger than a number of 64 bits"
        elif kinds <= {"list", "tuple", "dict"}:
            why = "hold values of different types, or of one that has no column type"
        raise BadRequest(
            f"{name} of the model's output can't be a column: its values {why}.",
            "Let the model return tensors, text, numbers, or lists and dicts of these; or leave output out.",
            code="no_column",
        ) from error


def _nested(pa: ModuleType, rows: torch.Tensor) -> Any:
    """Numbers for rows of one number, lists of numbers for vectors, lists of lists for matrices."""
    if rows.is_complex():
        raise BadRequest(
            "Complex numbers have no column type.",
            "Let the model return torch.view_as_real(…).",
            code="no_column",
        )
    if rows.is_floating_point() and rows.dtype not in (torch.float16, torch.float32, torch.float64):
        rows = rows.float()  # bfloat16, and floats of eight bits
    column = pa.array(rows.contiguous().view(-1).numpy())
    for length, count in zip(reversed(rows.shape[1:]), reversed(_counts(rows)), strict=True):
        column = pa.LargeListArray.from_arrays(pa.array(np.arange(count + 1) * length), column)
    return column


def _counts(rows: torch.Tensor) -> list[int]:
    """Number of lists at each depth of nested ones."""
    counts, total = [], 1
    for length in rows.shape[:-1]:
        total *= length
        counts.append(total)
    return counts


def _plain(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.tolist()
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return value
