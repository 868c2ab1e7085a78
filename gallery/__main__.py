"""Runs the gallery and writes docs/gallery.md: `make gallery`, or `python -m gallery NAME…` for some of it.

Each piece of code runs on two ranks of this machine, three times: in a cell of a cluster, as a job, and as
the script that `dtrain-lab script` prints, under plain torchrun. It prints its own count of samples a second,
and a sum of its parameters, which has to be the same on both ranks.
"""

from __future__ import annotations

import ast
import importlib.metadata
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import nbformat

import dtrain_lab as dt
from matrix import tree

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "gallery.md"
FOUND = HERE / "found.json"
"""Of all runs so far: a part can be run again, in another checkout, too."""
WITHIN = 0.05
TRIES = 3
LIMIT_S = 150
PACKAGES = (
    "torch", "accelerate", "transformers", "lightning", "pytorch-ignite", "deepspeed", "torchtune",
)  # fmt: skip
NEEDS = {"timm_train": "torchvision"}
"""By name of a piece, what can't be imported everywhere: its wheels are built for one build of torch."""
AFTER = """
Without GPUs, plain torchrun leaves Transformers and Accelerate with one process each unless told
otherwise, so printed scripts set `ACCELERATE_USE_CPU=1`. In cells and jobs they find the ranks.

- timm needs a torchvision built for the installed torch. PyPI's is built for PyPI's torch: with a CPU
  build from elsewhere it can't be imported, and timm keeps the row of an earlier run.
- DeepSpeed compiles an operator with a C++ compiler when it first initializes; `make gallery` has it do
  so beforehand.
- torchtune 0.6.1 needs torchao 0.13 or older.
- TorchElastic is what `torchrun` runs; minGPT-ddp's main() has its `@record`.

Not in the table: torchtitan 0.3.0. It installs from PyPI, but trains on accelerators only: if torch
finds none, its device is still CUDA, and its trainer needs Triton.

`make test` runs fifteen of these programs in cells (`tests/integration/cells/test_gallery.py`):
accelerate_loop, arguments, averaged, by_hand, ddp, fsdp2, gpt, ignite_parallel, lightning_fabric,
lightning_trainer, minigpt_ddp, mp_spawn, notebook_launch, processes, snapshots.
"""
WORDS = f"""\
*n of m samples/s*: the rate in the panel after the cell or job, and the loop's own count; *off* marks a
difference of more than {WITHIN:.0%}. *Runs*: both ranks trained the same model and, after a cell, can run the
next one. Without a DataLoader and without DDP, the number of samples in a batch is unknown unless the
code calls `dt.step(samples)`. A printed script has no monitor, and so no rate in the panel. *Run on*: the
date, and the commit if the repository has it; + means with uncommitted changes.
"""
START = "import torch, torch.distributed as dist\n"


@dataclass(frozen=True)
class Ran:
    """How one run went. `own`, `shown`: samples a second, by the loop and by us."""

    error: str = ""
    own: float | None = None
    shown: float | None = None

    @property
    def off(self) -> bool:
        """Whether the two figures differ by more than is allowed."""
        known = self.own is not None and self.shown is not None
        return known and abs(self.shown / self.own - 1) > WITHIN  # type: ignore[operator]

    def __str__(self) -> str:
        if self.error:
            return f"fails: {self.error}"
        if self.own is None or self.shown is None:
            return "runs"
        return f"runs; {self.shown:.0f} of {self.own:.0f} samples/s{' **(off)**' * self.off}"


def judge(texts: list[str], shown: float | None) -> Ran:
    """A run, from what its ranks have printed."""
    owns = [float(v) for text in texts for v in re.findall(r"OWN (\S+)", text)]
    numbers = [re.findall(r"NUMBERS (\S+)", text) for text in texts]
    if not all(numbers) or not owns:
        return Ran("it printed no result")
    if len({tuple(n) for n in numbers}) > 1:
        return Ran("ranks trained different models")
    return Ran("", sum(owns) / len(owns), shown)


def pieces() -> list[Path]:
    """Return the files of all pieces of code, by name."""
    return sorted((HERE / "code").glob("*/*.py"), key=lambda file: file.stem)


def in_cell(code: str) -> Ran:
    """In a cell of two ranks, which must be fit for the next one."""
    with dt.start(ranks=2) as cluster:
        result = run_in(cluster, code)
        if result.failures:
            return Ran(result.sentence)
        time.sleep(0.6)  # a sample of the last steps
        metrics = cluster.info()["metrics"] or {}
        if not fit(cluster):
            return Ran("ranks are unfit afterwards")
        return judge(list(result.stdout.values()), metrics.get("samples_per_s"))


def run_in(cluster: dt.Cluster, code: str) -> Any:
    """Run a piece in a cell, after the cell with what all pieces have."""
    cluster.run((HERE / "code" / "_net.py").read_text(), timeout=LIMIT_S)
    return cluster.run(code, timeout=LIMIT_S, check=False)


def fit(cluster: dt.Cluster) -> bool:
    """The two ranks take part in a collective."""
    after = cluster.run(f"{START}t = torch.ones(1); dist.all_reduce(t); print(t.item())", timeout=30)
    return bool(after.stdout[0] == "2.0\n")


def book(folder: Path, name: str, code: str) -> Path:
    """The code as a notebook."""
    cells = [(HERE / "code" / "_net.py").read_text(), code]
    path = folder / f"{name}.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells]), path)
    return path


def as_job(path: Path) -> Ran:
    """As a job of two ranks."""
    job: Any = dt.submit(path, ranks=2)
    state = job.wait(LIMIT_S)
    metrics = job.info()["metrics"] or {}
    log = job.logs()
    if state != "succeeded":
        return Ran(f"{state}: {log.strip().splitlines()[-1] if log.strip() else ''}")
    lines = log.splitlines()
    texts = ["\n".join(line for line in lines if line.startswith(f"[{rank}]")) for rank in (0, 1)]
    both = "\n".join(line for line in lines if not line.startswith(("[0]", "[1]")))
    return judge([f"{text}\n{both}" for text in texts], metrics.get("samples_per_s"))


def as_script(path: Path) -> Ran:
    """As the printed script under plain torchrun."""
    shown = [sys.executable, "-m", "dtrain_lab", "script", str(path)]
    made = subprocess.run(shown, capture_output=True, text=True, check=True)
    script = path.with_suffix(".py")
    script.write_text(made.stdout)
    run = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    run += ["--redirects=3", f"--log-dir={path.parent}/log-{path.stem}", script.name]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    done = subprocess.run(run, cwd=path.parent, env=environment, capture_output=True, timeout=LIMIT_S)
    texts = [next(path.parent.glob(f"log-{path.stem}/*/*/{r}/stdout.log")).read_text() for r in (0, 1)]
    if done.returncode:
        error = next(path.parent.glob(f"log-{path.stem}/*/*/0/stderr.log")).read_text().strip()
        return Ran(error.splitlines()[-1] if error else f"exit code {done.returncode}")
    return judge(texts, None)


def attempt(run: Any, *arguments: Any) -> Ran:
    """Run, again where a figure is off: what is wrong is wrong each time, unlike a machine that is busy."""
    for _ in range(TRIES):
        ran = attempt_once(run, *arguments)
        if not ran.off:
            break
    return ran


def attempt_once(run: Any, *arguments: Any) -> Ran:
    """Run; whatever is raised is how it went."""
    try:
        found: Ran = run(*arguments)
        return found
    except (Exception, subprocess.TimeoutExpired) as error:  # noqa: BLE001
        return Ran(f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}")


def main() -> None:
    """Entry point."""
    chosen = sys.argv[1:]
    every = pieces()
    rows: dict[str, list[str]] = json.loads(FOUND.read_text()) if FOUND.exists() else {}
    ran_on = f"{date.today()}, {tree.commit(HERE.parent)}"
    with tempfile.TemporaryDirectory() as folder:
        for file in (f for f in every if not chosen or f.stem in chosen):
            if lacking := cannot_import(NEEDS.get(file.stem)):
                print(f"SKIPPED: {file.stem}: {lacking}", flush=True)
                continue
            code = file.read_text()
            path = book(Path(folder), file.stem, code)
            runs = [attempt(in_cell, code), attempt(as_job, path), attempt(as_script, path)]
            what = (ast.get_docstring(ast.parse(code)) or file.stem).split("\n")[0]
            if file.stem in NEEDS:  # it may have been run in another environment than the rest
                what += f" ({versions('torch', NEEDS[file.stem])})"
            rows[file.stem] = [what, *map(str, runs), ran_on]
            print(json.dumps(rows[file.stem], ensure_ascii=False), flush=True)
            FOUND.write_text(json.dumps(rows, ensure_ascii=False, indent=1) + "\n")
    PAGE.write_text(page([rows[f.stem] for f in every if f.stem in rows]))


def cannot_import(module: str | None) -> str:
    """Why a module can't be imported here; empty where it can, or where there is none."""
    if module is None:
        return ""
    done = subprocess.run([sys.executable, "-c", f"import {module}"], capture_output=True, text=True)
    return done.stderr.strip().splitlines()[-1] if done.returncode else ""


def versions(*names: str) -> str:
    """Packages with their versions; one that is not installed is left out."""
    installed = {d.name: d.version for d in importlib.metadata.distributions()}
    return ", ".join(f"{name} {installed[name]}" for name in names if name in installed)


def page(rows: list[list[str]]) -> str:
    """docs/gallery.md."""
    lines = [
        "# Training code that runs unchanged",
        "",
        "Made by `make gallery`: two ranks on one machine, CPU, gloo; Python "
        f"{sys.version.split()[0]}, {versions(*PACKAGES)}. The code is in `gallery/code/`.",
        "",
        WORDS,
        "| Code | In a cell | As a job | Printed script under torchrun | Run on |",
        "|---|---|---|---|---|",
        *("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows),
        AFTER,
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
