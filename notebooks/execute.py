"""Run notebooks as they are, and save what they show beside them: `make notebooks`, or with names to run some.

The notebooks themselves are kept without outputs, which would be those of another machine.
"""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).parent
EXECUTED = HERE.parent / "docs" / "_shots" / "notebooks"


def execute(path: Path) -> None:
    """Run one and save it executed; what fails is not saved.

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
    EXECUTED.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, EXECUTED / path.name)


def main() -> None:
    """Run all, or those that are named."""
    for path in sorted((*HERE.glob("*.ipynb"), *HERE.glob("ways/*.ipynb"))):
        if path.stem in sys.argv[1:] or len(sys.argv) == 1:
            began = time.perf_counter()
            execute(path)
            print(f"{path.name}: {time.perf_counter() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
