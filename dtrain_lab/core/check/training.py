"""What makes many ranks train apart, or all on the same data."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Sequence

from dtrain_lab.core.check.parsed import Parsed, dotted, last
from dtrain_lab.core.finding import Finding

TOGETHER = frozenset((
    "DistributedDataParallel", "DDP", "FullyShardedDataParallel", "FSDP", "fully_shard", "FSDPModule",
    "parallelize_module", "distribute_module", "all_reduce", "reduce_scatter", "reduce_scatter_tensor",
    "all_gather", "all_gather_into_tensor", "broadcast", "DistributedOptimizer",
    "ZeroRedundancyOptimizer", "Trainer", "Accelerator", "Fabric", "initialize",
    "DataParallelStrategy", "SFTTrainer", "Seq2SeqTrainer", "PostLocalSGDOptimizer", "DTensor",
    "distribute_tensor", "batch_isend_irecv", "send", "recv",
))  # fmt: skip
"""Whoever names one of these has ranks speak with each other, or lets a framework do so."""


def apart(parsed: Sequence[Parsed], ranks: int) -> list[Finding]:
    """A notebook that trains, and in which no rank ever speaks with another."""
    if ranks < 2:
        return []
    trains: tuple[Parsed, ast.AST] | None = None
    for one in parsed:
        for node in ast.walk(one.tree):
            if isinstance(node, ast.Name | ast.Attribute | ast.alias):
                name = node.name.rpartition(".")[2] if isinstance(node, ast.alias) else last(node)
                if name in TOGETHER:
                    return []
            if isinstance(node, ast.Call) and last(node.func) == "backward" and trains is None:
                trains = one, node
    if trains is None:
        return []
    one, node = trains
    return [
        one.finding(
            "warning",
            "separate_models",
            f"No DDP, FSDP or collective: {ranks} ranks would train {ranks} separate models.",
            "Wrap the model in DistributedDataParallel, and give the loader a DistributedSampler.",
            node,
            diff=_diff(parsed),
        )
    ]


def _diff(parsed: Sequence[Parsed]) -> str:
    """A change that adds DDP after the model and a sampler to its loaders; "" where no model is found."""
    model = _model(parsed)
    if model is None:
        return ""
    parts: list[str] = []
    for one in parsed:
        before = one.source.split("\n")
        after = list(before)
        for node in sorted(ast.walk(one.tree), key=lambda n: -getattr(n, "lineno", 0)):
            if isinstance(node, ast.Call) and last(node.func) == "DataLoader":
                _sample(after, node)
        place, name = model
        if place is one:
            at = _end_of_model(one, name)
            after[at:at] = [
                "from torch.nn.parallel import DistributedDataParallel",
                f"{name} = DistributedDataParallel({name}.to(device))",
            ]
        if after != before:
            label = f"cell {one.cell.name}"
            parts += difflib.unified_diff(before, after, label, label, lineterm="", n=2)
    return "\n".join(parts)


def _model(parsed: Sequence[Parsed]) -> tuple[Parsed, str] | None:
    """The name that an optimizer's parameters come from, and the last cell that assigns it before."""
    wanted = None
    for one in parsed:
        for node in ast.walk(one.tree):
            if (
                isinstance(node, ast.Call)
                and last(node.func) == "parameters"
                and isinstance(node.func, ast.Attribute)
            ):
                wanted = wanted or (node.func.value.id if isinstance(node.func.value, ast.Name) else None)
    for one in parsed:
        if wanted is not None and _end_of_model(one, wanted):
            return one, wanted
    return None


def _end_of_model(one: Parsed, name: str) -> int:
    return max(
        (
            s.end_lineno or s.lineno
            for s in one.tree.body
            if isinstance(s, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in s.targets)
        ),
        default=0,
    )


def _sample(lines: list[str], node: ast.Call) -> None:
    """Give a loader a sampler, where its call stands on one line."""
    if node.lineno != node.end_lineno or not node.args or any(k.arg == "sampler" for k in node.keywords):
        return
    line = lines[node.lineno - 1]
    data = ast.unparse(node.args[0])
    sampler = f"sampler=torch.utils.data.DistributedSampler({data})"
    if re.search(r"shuffle\s*=\s*\w+", line):
        lines[node.lineno - 1] = re.sub(r"shuffle\s*=\s*\w+", sampler, line, count=1)
    elif node.end_col_offset is not None:
        at = node.end_col_offset - 1
        lines[node.lineno - 1] = f"{line[:at]}, {sampler}{line[at:]}"


def samplers(parsed: Sequence[Parsed]) -> list[Finding]:
    """A DistributedSampler that is never told the epoch gives each epoch the same order."""
    made: tuple[Parsed, ast.Call] | None = None
    for one in parsed:
        for node in ast.walk(one.tree):
            if isinstance(node, ast.Attribute) and node.attr == "set_epoch":
                return []
            if isinstance(node, ast.Call) and last(node.func) == "DistributedSampler":
                shuffles = not any(
                    k.arg == "shuffle" and isinstance(k.value, ast.Constant) and k.value.value is False
                    for k in node.keywords
                )
                made = (one, node) if shuffles and made is None else made
    if made is None:
        return []
    one, call = made
    return [
        one.finding(
            "warning",
            "no_set_epoch",
            "The sampler is never told the epoch: every epoch has the same order.",
            "Call sampler.set_epoch(epoch) at the start of each epoch.",
            call,
        )
    ]


def keras(parsed: Sequence[Parsed]) -> list[Finding]:
    """Keras 3 has no MultiWorkerMirroredStrategy."""
    found = []
    imports_keras = any("keras" in one.source for one in parsed)
    for one in parsed:
        for node in ast.walk(one.tree):
            if (
                isinstance(node, ast.Call)
                and dotted(node.func).endswith("MultiWorkerMirroredStrategy")
                and imports_keras
            ):
                found.append(
                    one.finding(
                        "problem",
                        "keras_strategy",
                        "Keras 3 does not train under MultiWorkerMirroredStrategy.",
                        "Use the torch back-end of Keras with DistributedDataParallel.",
                        node,
                    )
                )
    return found
