"""Metrics of training, declared once for samples, ranks, worlds, their history and its export.

Each declaration has the metric's unit, its meaning, and how the value of a world comes from those of its
ranks. `metrics.over_ranks` computes by the declarations, `metrics.outdated` leaves out by them, and the
OpenAPI file takes the meaning from here; tests compare docs/metrics.md and the export's columns. A page or a
terminal decides in which unit it shows a metric.
"""

from __future__ import annotations

import functools
from typing import Annotated, Any, Literal, get_type_hints

from msgspec import Meta, Struct

OverRanks = Literal["sum", "mean", "median", "largest"]


class MetricDefinition(Struct, frozen=True):
    """Declaration of a metric.

    `unit`: "s", "1/s", "share" (0 to 1), "bytes", … `over_ranks`: how a world's value comes from those of its
    ranks (of its nodes, where they are what is measured); None if only the world has one, or only the ranks.
    `part`: name of the part of a step on the screens, if it is one; the mean of a part is that of its shares
    of a step. `lasts`: it holds also while no steps are taken; any other metric is then outdated.
    """

    unit: str
    over_ranks: OverRanks | None
    part: str = ""
    lasts: bool = False


def _declare(
    meaning: str, unit: str, over_ranks: OverRanks | None, part: str = "", *, lasts: bool = False
) -> Meta:
    return Meta(description=meaning, extra={"metric": MetricDefinition(unit, over_ranks, part, lasts)})


SamplesPerS = Annotated[float | None, _declare("samples of the batches trained with", "1/s", "sum")]
TokensPerS = Annotated[float | None, _declare("tokens of the batches trained with", "1/s", "sum")]
StepS = Annotated[float | None, _declare("a step, with all of its parts", "s", "median")]
DataS = Annotated[float | None, _declare("training waited for its data loader", "s", "mean", "data")]
DataError = Annotated[
    float | None, _declare("error of `data_s`, as a share of the step, where it was measured", "share", None)
]
ComputeS = Annotated[
    float | None,
    _declare(
        "from the forward pass to the end of backward, without the collectives in it",
        "s",
        "mean",
        "forward, backward",
    ),
]
OptimizerS = Annotated[
    float | None,
    _declare("`optimizer.step()`, without the collectives in it", "s", "mean", "optimizer"),
]
TransferS = Annotated[
    float | None,
    _declare(
        "communication that computation did not hide, measured on the rank that waited least",
        "s",
        "mean",
        "transfer",
    ),
]
WaitS = Annotated[
    float | None,
    _declare("additional time on the other ranks, which waited for a slower rank", "s", "mean", "waiting"),
]
CommOverhead = Annotated[float | None, _declare("(transfer + waiting) / step", "share", "mean")]
CommOverheadError = Annotated[float | None, _declare("error of `comm_overhead`", "share", "largest")]
AsleepS = Annotated[
    float | None,
    _declare(
        "waiting for something other than data and ranks, such as a sleep, a file or a network, where that "
        "is most of a step; the parts above include it",
        "s",
        "mean",
        "other waits",
    ),
]
StepsPerS = Annotated[float | None, _declare("steps", "1/s", None)]
OwnS = Annotated[float | None, _declare("a step without communication", "s", None)]
ExposedS = Annotated[float | None, _declare("a step waited for communication, as measured", "s", None)]
ExposedErrorS = Annotated[float | None, _declare("error of `exposed_s`", "s", None)]
TypicalOwnS = Annotated[float | None, _declare("own time of the median step", "s", None)]
AveragingS = Annotated[
    float | None, _declare("averaging the gradients where nothing hides it, from probes", "s", None)
]
SkewS = Annotated[float | None, _declare("difference of the ranks' own times", "s", None)]
GradientBytes = Annotated[
    int | None, _declare("gradients that each rank averages in a step", "bytes", "median", lasts=True)
]
LinkShare = Annotated[
    float | None,
    _declare("share of the slowest node's network speed that sending them takes", "share", None, lasts=True),
]
CpuUtilization = Annotated[
    float | None, _declare("cores that the process keeps busy", "cores", None, lasts=True)
]
ProcessMemoryBytes = Annotated[int | None, _declare("memory of the process", "bytes", None, lasts=True)]
DeviceMemoryBytes = Annotated[int | None, _declare("memory used on the GPU", "bytes", None, lasts=True)]
DeviceMemoryTotalBytes = Annotated[int | None, _declare("memory of the GPU", "bytes", None, lasts=True)]
DeviceUtilization = Annotated[
    float | None, _declare("time in which the GPU computed", "share", None, lasts=True)
]
At = Annotated[float, _declare("time since 1970", "s", None, lasts=True)]
Generation = Annotated[int, _declare("how often the process group was rebuilt", "rebuilds", None, lasts=True)]
Step = Annotated[int | None, _declare("steps of the loop so far", "steps", "largest", lasts=True)]
MemoryBytes = Annotated[
    int | None,
    _declare(
        "memory used on the rank's GPU, or by its process without a GPU", "bytes", "largest", lasts=True
    ),
]
NetworkBytesPerS = Annotated[
    float | None, _declare("sent and received by a node together", "bytes/s", "largest", lasts=True)
]


class StepMetrics(Struct, frozen=True, kw_only=True):
    """Rates, and the parts of a step that a rank measures by itself; None if unknown."""

    samples_per_s: SamplesPerS = None
    tokens_per_s: TokensPerS = None
    step_s: StepS = None
    data_s: DataS = None
    compute_s: ComputeS = None
    optimizer_s: OptimizerS = None


class LoopMetrics(StepMetrics, frozen=True, kw_only=True):
    """Also what is judged from all ranks together: communication, its parts and error, and other waits."""

    transfer_s: TransferS = None
    wait_s: WaitS = None
    comm_overhead: CommOverhead = None
    comm_overhead_error: CommOverheadError = None
    asleep_s: AsleepS = None


@functools.cache
def declared(kind: type[Struct]) -> dict[str, tuple[str, MetricDefinition]]:
    """Return the declared metrics of a struct by name: meaning and declaration."""
    definitions: dict[str, tuple[str, MetricDefinition]] = {}
    hints: dict[str, Any] = get_type_hints(kind, include_extras=True)
    for name in kind.__struct_fields__:
        for meta in getattr(hints[name], "__metadata__", ()):
            if isinstance(meta, Meta) and meta.extra and "metric" in meta.extra:
                definitions[name] = (meta.description or "", meta.extra["metric"])
    return definitions
