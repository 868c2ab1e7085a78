"""Check for training without communication between ranks, and for wrong use of samplers."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Sequence

from dtrain_lab.jobs.check import data_parallel
from dtrain_lab.jobs.check.parsed_cells import Parsed, last
from dtrain_lab.wire.jobs.finding import Finding

TOGETHER = frozenset((
    "DistributedDataParallel", "DDP", "FullyShardedDataParallel", "FSDP", "fully_shard", "FSDPModule",
    "parallelize_module", "distribute_module", "all_reduce", "reduce_scatter", "reduce_scatter_tensor",
    "all_gather", "all_gather_into_tensor", "all_gather_single", "reduce_scatter_single",
    "broadcast", "DistributedOptimizer",
    "ZeroRedundancyOptimizer", "Trainer", "Accelerator", "Fabric", "initialize",
    "shard_model", "DataParallelStrategy", "SFTTrainer", "Seq2SeqTrainer", "PostLocalSGDOptimizer", "DTensor",
    "distribute_tensor", "batch_isend_irecv", "send", "recv", "notebook_launcher", "debug_launcher",
    "auto_model",
))  # fmt: skip
"""Names whose use means that ranks communicate, directly or through a framework."""


def apart(parsed: Sequence[Parsed], ranks: int) -> list[Finding]:
    """Find training in which ranks never communicate.

    Args:
        parsed: the cells that run.
        ranks: number of the job's ranks.

    Returns:
        At most one warning, with a diff that adds DDP.
    """
    if ranks < 2:
        return []
    trains: tuple[Parsed, ast.AST] | None = None
    for code in parsed:
        for node in ast.walk(code.tree):
            if isinstance(node, ast.Name | ast.Attribute | ast.alias):
                name = node.name.rpartition(".")[2] if isinstance(node, ast.alias) else last(node)
                if name in TOGETHER:
                    return []
            if isinstance(node, ast.Call) and last(node.func) == "backward" and trains is None:
                trains = code, node
    if trains is None:
        return []
    code, node = trains
    of_one = any(data_parallel.call(code) is not None for code in parsed)
    return [
        code.finding(
            "warning",
            "separate_models",
            f"No DDP, FSDP or collective: {ranks} ranks would train {ranks} separate models.",
            f"{'Replace nn.DataParallel by' if of_one else 'Wrap the model in'} DistributedDataParallel, and "
            "give the loader a DistributedSampler.",
            node,
            diff=_diff(parsed),
        )
    ]


def _diff(parsed: Sequence[Parsed]) -> str:
    """Make a diff that wraps the model in DDP instead of DataParallel, and gives its loaders a sampler.

    It is "" if no model is found.
    """
    wraps = next(((code, call) for code in parsed if (call := data_parallel.call(code)) is not None), None)
    model = _model(parsed) if wraps is None else None
    if model is None and wraps is None:
        return ""
    parts: list[str] = []
    for code in parsed:
        before = code.source.split("\n")
        after = list(before)
        for node in sorted(ast.walk(code.tree), key=lambda n: -getattr(n, "lineno", 0)):
            if isinstance(node, ast.Call) and last(node.func) == "DataLoader":
                _sample(after, node)
        if wraps is not None and wraps[0] is code:
            after = data_parallel.replaced(code, after, wraps[1])
        elif model is not None and model[0] is code:
            name = model[1]
            at = _end_of_model(code, name)
            after[at:at] = [
                data_parallel.IMPORT,
                f"{name} = DistributedDataParallel({name}.to(device))",
            ]
        if after != before:
            label = f"cell {code.name}"
            parts += difflib.unified_diff(before, after, label, label, lineterm="", n=2)
    return "\n".join(parts)


def _model(parsed: Sequence[Parsed]) -> tuple[Parsed, str] | None:
    """Find the model whose parameters an optimizer gets, and the first cell that assigns it."""
    wanted = None
    for code in parsed:
        for node in ast.walk(code.tree):
            if (
                isinstance(node, ast.Call)
                and last(node.func) == "parameters"
                and isinstance(node.func, ast.Attribute)
            ):
                wanted = wanted or (node.func.value.id if isinstance(node.func.value, ast.Name) else None)
    for code in parsed:
        if wanted is not None and _end_of_model(code, wanted):
            return code, wanted
    return None


def _end_of_model(code: Parsed, name: str) -> int:
    return max(
        (
            s.end_lineno or s.lineno
            for s in code.tree.body
            if isinstance(s, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in s.targets)
        ),
        default=0,
    )


def _sample(lines: list[str], node: ast.Call) -> None:
    """Give a loader a sampler if its call is on one line."""
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


def samplers(parsed: Sequence[Parsed], ranks: int) -> list[Finding]:
    """Find wrong use of a DistributedSampler: `set_epoch` is never called, or each rank has the same shard.

    Args:
        parsed: the cells that run.
        ranks: number of the job's ranks.
    """
    findings: list[Finding] = []
    first_sampler: tuple[Parsed, ast.Call] | None = None
    sets_epoch = False
    for code in parsed:
        for node in ast.walk(code.tree):
            sets_epoch |= isinstance(node, ast.Attribute) and node.attr == "set_epoch"
            if not (isinstance(node, ast.Call) and last(node.func) == "DistributedSampler"):
                continue
            given = {k.arg: k.value for k in node.keywords} | dict(
                zip(("dataset", "num_replicas", "rank", "shuffle"), node.args, strict=False)
            )
            shard = _whole(given.get("rank"))
            if ranks > 1 and shard is not None and _whole(given.get("num_replicas")) != 1:
                findings.append(_fixed_shard(code, node, shard, ranks))
            shuffle = given.get("shuffle")
            shuffles = not (isinstance(shuffle, ast.Constant) and shuffle.value is False)
            first_sampler = (code, node) if shuffles and first_sampler is None else first_sampler
    if first_sampler is not None and not sets_epoch:
        code, call = first_sampler
        findings.append(
            code.finding(
                "warning",
                "no_set_epoch",
                "set_epoch is never called on the sampler: every epoch has the same order.",
                "Call sampler.set_epoch(epoch) at the start of each epoch.",
                call,
            )
        )
    return findings


def _whole(value: ast.expr | None) -> int | None:
    return value.value if isinstance(value, ast.Constant) and type(value.value) is int else None


def _fixed_shard(code: Parsed, node: ast.Call, shard: int, ranks: int) -> Finding:
    return code.finding(
        "warning",
        "fixed_shard",
        f"DistributedSampler has rank={shard} on each of the {ranks} ranks: all of them read the same shard.",
        "Leave num_replicas and rank out: the sampler takes them from the process group.",
        node,
    )
