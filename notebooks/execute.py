"""Run notebooks as they are and save them with what they show: `make notebooks`, or with names to run some."""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).parent


def execute(path: Path) -> None:
    """Run one and save it; what fails is not saved.

    Raises:
        CellExecutionError: a cell failed.
    """
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=600,
        kernel_name="python3",
        resources={"metadata": {"path": str(path.parent)}},
        # as JupyterLab saves it: streams joined, no times of this run
        coalesce_streams=True,
        record_timing=False,
    )
    asyncio.run(client.async_execute())
    notebook.metadata["language_info"] = {"name": "python"}
    nbformat.write(notebook, path)


def main() -> None:
    """Run all, or those that are named."""
    for path in sorted((*HERE.glob("*.ipynb"), *HERE.glob("ways/*.ipynb"))):
        if path.stem in sys.argv[1:] or len(sys.argv) == 1:
            began = time.perf_counter()
            execute(path)
            print(f"{path.name}: {time.perf_counter() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
