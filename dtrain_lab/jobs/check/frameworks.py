"""Check of the framework: which one the imports indicate, its strategy, and code that would not train."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from dtrain_lab.jobs.check import keras_fit
from dtrain_lab.jobs.check.local_modules import Module
from dtrain_lab.jobs.check.parsed_cells import Parsed, last, named
from dtrain_lab.placement.frameworks import mindspore, names, tensorflow
from dtrain_lab.wire.jobs.finding import Finding
from dtrain_lab.wire.kinds import Framework, Severity, Strategy

LEGACY = "TF_USE_LEGACY_KERAS"
FIX_FIT = (
    f"Install tf_keras and set {LEGACY}=1 in [environment] variables of the profile, which makes tf.keras "
    "Keras 2; or write the loop yourself, with strategy.run."
)
UNSEEN = "the panel shows its ranks, their steps where the notebook calls dt.step, and no communication."


class Chosen(Struct, frozen=True):
    """The framework of a job.

    Attributes:
        asked: the framework in the request or the profile; None if neither names one.
        ranks: number of the job's ranks.
        nodes: number of its nodes.
        accelerator: kind of its nodes' devices.
        variables: those of the profile's environment.
        no_torch: whether its environment is known to have no torch.
    """

    asked: Framework | None = None
    ranks: int = 1
    nodes: int = 1
    accelerator: str = "gpu"
    variables: Mapping[str, str] = {}
    no_torch: bool = False

    @property
    def name(self) -> Framework:
        """The framework whose ranks are started."""
        return self.asked or "torch"


def check(
    parsed: Sequence[Parsed],
    chosen: Chosen,
    modules: Mapping[str, tuple[str, int]],
    files: Sequence[Module] = (),
) -> list[Finding]:
    """Find code that keeps the ranks of a framework from training together.

    Args:
        parsed: the cells that run.
        chosen: the job's framework.
        modules: modules that the notebook imports, also through its files, with cell and line.
        files: files of its folder that it imports.
    """
    findings = [*_other(chosen, modules), *keras(parsed, chosen.variables, files)]
    if chosen.name == "tensorflow":
        findings += _strategies([*parsed, *(file.parsed for file in files)], chosen)
    if chosen.accelerator == "npu":
        findings += _npus(chosen)
    if chosen.name != "torch":
        title = names.TITLES[chosen.name]
        findings.append(Finding("note", "framework_unseen", f"This job trains with {title}: {UNSEEN}"))
    return findings


class TensorFlowUse(Struct, frozen=True):
    """How a notebook, or a file that it imports, uses TensorFlow.

    Attributes:
        strategy: the first strategy that it creates; None without one.
        evaluates: whether it has code for an evaluator beside parameter servers.
    """

    strategy: Strategy | None = None
    evaluates: bool = False

    @property
    def one_process(self) -> bool:
        """Whether the strategy is a single process, with all GPUs of its node."""
        return self.strategy in tensorflow.ALONE


def tensorflow_use(parsed: Sequence[Parsed]) -> TensorFlowUse:
    """Return how the code of a job uses TensorFlow."""
    return TensorFlowUse(next((kind for _, _, kind in _made(parsed)), None), _evaluates(parsed))


def _evaluates(parsed: Sequence[Parsed]) -> bool:
    return any(
        isinstance(node, ast.Constant) and node.value == "evaluator"
        for code in parsed
        if "evaluator" in code.source
        for node in ast.walk(code.tree)
    )


def keras(
    cells: Sequence[Parsed], variables: Mapping[str, str], files: Sequence[Module] = ()
) -> list[Finding]:
    """Find `fit` and its like under MultiWorkerMirroredStrategy, which Keras 3, the default, can't do.

    A custom loop works, and so does Keras 2, as `tf_keras` or by its variable. Other libraries have a `fit`,
    too: where the model can't be followed to Keras, that is a warning.

    Args:
        cells: The notebook's cells.
        variables: Environment variables of the job, which may choose Keras 2.
        files: Files that the cells import, directly or not.
    """
    parsed = [*cells, *(file.parsed for file in files)]
    strategies = [(code, node) for code, node, kind in _made(parsed) if kind == "multi_worker_mirrored"]
    if (
        not strategies
        or variables.get(LEGACY, "").lower() in ("1", "true")
        or any(map(_chooses_keras_2, parsed))
    ):
        return []
    fits = keras_fit.calls(cells, files)
    if not fits:
        return []
    certain = next((call for call in fits if call.certain), None)
    if certain is not None:
        message = f"Keras 3 can't {certain.what} a model under MultiWorkerMirroredStrategy."
        return [
            code.finding("problem", "keras_strategy", message, FIX_FIT, node) for code, node in strategies
        ]
    message = f"If this {fits[0].what}s a Keras 3 model: that fails under MultiWorkerMirroredStrategy."
    return [fits[0].cell.finding("warning", "keras_strategy", message, FIX_FIT, fits[0].node)]


def _chooses_keras_2(code: Parsed) -> bool:
    """Whether a cell imports `tf_keras`, or sets the variable that makes tf.keras Keras 2."""
    for node in ast.walk(code.tree):
        if isinstance(node, ast.alias | ast.ImportFrom) and named(node).split(".")[0] == "tf_keras":
            return True
        if isinstance(node, ast.Constant) and node.value == LEGACY:
            return True
    return False


def _made(parsed: Sequence[Parsed]) -> Iterator[tuple[Parsed, ast.AST, Strategy]]:
    """Yield the strategies that a notebook creates, in order."""
    for code in parsed:
        if "Strategy" not in code.source:
            continue
        calls = [node for node in ast.walk(code.tree) if isinstance(node, ast.Call)]
        for node in sorted(calls, key=lambda call: (call.lineno, call.col_offset)):
            kind = tensorflow.STRATEGIES.get(last(node.func))
            if kind is not None:
                yield code, node, kind


def _other(chosen: Chosen, modules: Mapping[str, tuple[str, int]]) -> list[Finding]:
    """Find a notebook whose imports indicate a framework other than the job's."""
    imported = names.imported(modules)
    if imported is None or imported[0] == chosen.name:
        return []
    if chosen.asked is not None and any(module in modules for module in names.MODULES[chosen.asked]):
        return []  # it imports that of its job, too
    framework, module = imported
    severity: Severity
    if chosen.asked is not None:
        severity = "warning"
        fix = f"Name {framework} as its framework, if it trains with {names.TITLES[framework]}."
        reason = f'its framework is "{chosen.asked}"'
    else:
        severity = "problem" if chosen.ranks > 1 or chosen.no_torch else "note"
        fix = f'Submit it with --framework {framework}, or set framework = "{framework}" in the profile.'
        reason = "no framework is named"
        if chosen.ranks > 1:
            reason = "its ranks would be started for PyTorch, and train apart"
        if chosen.no_torch:
            reason = "no framework is named, and the environment has no torch"
    return [
        Finding(
            severity,
            "framework",
            f"This notebook imports {module}; {reason}.",
            fix,
            *modules[module],
            field="framework",
            value=framework,
        )
    ]


def _strategies(parsed: Sequence[Parsed], chosen: Chosen) -> list[Finding]:
    strategy = next(_made(parsed), None)
    if chosen.ranks == 1:
        return []
    if strategy is None:
        return [
            Finding(
                "warning",
                "no_strategy",
                f"No tf.distribute strategy: {chosen.ranks} ranks would train "
                f"{chosen.ranks} separate models.",
                "Create a tf.distribute.MultiWorkerMirroredStrategy(), and build the model in its scope().",
            )
        ]
    code, node, kind = strategy
    if kind not in tensorflow.ALONE:
        return []
    name = last(node.func) if isinstance(node, ast.Call) else kind
    return [
        code.finding(
            "problem",
            "one_process",
            f"{name} runs one process with all GPUs of its node: {chosen.ranks} ranks would train "
            f"{chosen.ranks} separate models.",
            "Submit it with one node and one rank, or use a MultiWorkerMirroredStrategy.",
            node,
        )
    ]


def _npus(chosen: Chosen) -> list[Finding]:
    note = Finding(
        "note",
        "npu_not_run",
        "Ascend NPUs: this plan follows their documentation; dtrain-lab has not been tested on them.",
    )
    each = chosen.ranks // max(1, chosen.nodes)
    if chosen.name != "mindspore" or chosen.nodes == 1 or each == mindspore.DEVICES_PER_NODE:
        return [note]
    return [
        Finding(
            "problem",
            "eight_devices",
            f"MindSpore on several Ascend nodes uses all {mindspore.DEVICES_PER_NODE} devices of each; "
            f"this job has {each} ranks on each.",
            f"Submit it with {mindspore.DEVICES_PER_NODE} ranks on each node, or on one node.",
            field="ranks_per_node",
            value=str(mindspore.DEVICES_PER_NODE),
        ),
        note,
    ]
