"""Private names of torch by feature: which names each feature needs, and what happens without them."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

C10D = "torch.distributed.distributed_c10d"
DDP = "torch.nn.parallel.distributed:DistributedDataParallel"
GROUP = "torch.distributed:ProcessGroup"
REDUCER = "torch.distributed:Reducer"
GLOO = "torch.distributed:ProcessGroupGloo"
FSDP_STATE = "torch.distributed.fsdp._fully_shard._fsdp_state:FSDPState"


@dataclass(frozen=True, eq=False)  # hooks look features up in each step: by identity
class Feature:
    """A feature of dtrain-lab that needs private names of torch.

    Attributes:
        key: short name of the feature.
        names: as `module:attribute.attribute`; after ` sets ` follows an attribute that a method sets, after
            ` or ` another path that serves as well.
        without: what happens where a name is missing, as a text for the user.
        told_in_use: whether the user is told when the feature would have been used; otherwise at the start.
    """

    key: str
    names: tuple[str, ...]
    without: str
    told_in_use: bool = False


GROUPS = Feature(
    "groups",
    (f"{C10D}:_world", f"{GROUP}._device_types", f"{GROUP}._get_backend"),
    "Collectives are not numbered, and groups that cells made are not known after a restart of a rank.",
)
NUMBERS = Feature(
    "numbers",
    (f"{GLOO}._get_sequence_number_for_group",),
    "A hang verdict names no number of a collective.",
)
REBUILD = Feature(
    "rebuild",
    (
        *GROUPS.names,
        f"{C10D}:_new_process_group_helper",
        f"{GROUP}._register_backend",
        f"{GROUP}._set_group_name",
        f"{GROUP}._set_group_desc",
        f"{GLOO}._Options._devices",
        f"{GLOO}._Options._threads",
        f"{GLOO}._Options._timeout",
    ),
    "After an interrupted collective the process group is rebuilt: models and groups that use it are not "
    "carried over, and their set-up cells have to run again.",
    told_in_use=True,
)
MODELS = Feature(
    "models",
    (
        f"{DDP}._build_params_for_reducer",
        f"{DDP}._build_debug_param_to_name_mapping",
        f"{DDP}._ddp_init_helper",
        f"{DDP}.__init__ sets _comm_hooks",
        f"{REDUCER}._remove_autograd_hooks",
        f"{REDUCER}._set_static_graph",
        "torch.distributed:_register_comm_hook",
    ),
    "DDP models are not carried over a rebuilt process group: wrap them again.",
    told_in_use=True,
)
SHARDED = Feature(
    "sharded",
    (
        "torch.distributed._composable_state:_module_state_mapping",
        "torch.distributed.fsdp:FSDPModule._get_fsdp_state",
        "torch.distributed.fsdp:FSDPModule.reset_iter_state",
        f"{FSDP_STATE}.__init__ sets _is_root",
    ),
    "FSDP2 models are not carried over a rebuilt process group: create them again and load a checkpoint.",
    told_in_use=True,
)
TIMEOUTS = Feature(
    "timeouts",
    (
        *GROUPS.names,
        f"{C10D}:_new_process_group_helper",
        f"torch.distributed:set_timeout or {C10D}:_set_pg_timeout",
        f"{GLOO}._Options._timeout",
    ),
    "Time-outs of collectives stay on while ranks are paused in the debugger.",
)
GUARD = Feature(
    "guard",
    (f"{C10D}:_world", f"{C10D}:_process_group_name", f"{C10D}:_hash_ranks_to_str"),
    "`dt.guard` can't compare collectives before they run.",
    told_in_use=True,
)
BACKWARD = Feature(
    "backward",
    (
        f"{DDP}._run_ddp_forward",
        f"{DDP}._set_ddp_runtime_logging_sample_rate",
        f"{DDP}.__init__ sets _module_parameters",
        f"{DDP}.__init__ sets _comm_hooks",
        "torch.distributed:Logger._get_ddp_logging_data",
        "torch.autograd:Variable._execution_engine",
    ),
    "Communication of DDP models is not shown.",
)
PROBE = Feature(
    "probe",
    (
        *BACKWARD.names,
        f"{DDP}.__init__ sets _use_python_reducer",
        "torch.distributed.algorithms.join:Joinable.__init__ sets _join_config",
        f"{REDUCER}._get_zeros_like_grad_buckets",
        "torch:Tensor._post_accumulate_grad_hooks",
        "torch._utils:_flatten_dense_tensors",
        "torch._utils:_unflatten_dense_tensors",
        "torch:_foreach_copy_",
    ),
    "The share of communication that computation hides is not measured, so its error is larger.",
)
LOADERS = Feature(
    "loaders",
    ("torch.utils.data.dataloader:_BaseDataLoaderIter.__next__",),
    "Time that a step waits for its DataLoader is counted as computation.",
)
DIAGNOSE = Feature(
    "diagnose",
    ("torch.utils.data:DataLoader._get_iterator",),
    "`%distributed diagnose` can't run steps again.",
    told_in_use=True,
)
NESTS = Feature(
    "nests",
    ("torch.utils._pytree:tree_leaves", "torch.utils._pytree:tree_map"),
    "Arguments and results of models are looked for in lists, tuples and dicts only.",
)
BUFFERS = Feature(
    "buffers",
    ("torch.distributed:_broadcast_coalesced",),
    "Time in which DDP broadcasts buffers is counted as computation.",
)
FUNCTIONAL = Feature(
    "functional",
    ("torch.distributed._functional_collectives:wait_tensor",),
    "Functional collectives (FSDP2, tensor parallel) are not counted.",
)
REFERENCES = Feature(
    "references",
    ("torch.distributed.rpc.api:_delete_all_user_and_unforked_owner_rrefs",),
    "RPC that is started again and has used remote references takes 100 s to shut down.",
)
FEATURES = (
    GROUPS, NUMBERS, REBUILD, MODELS, SHARDED, TIMEOUTS, GUARD, BACKWARD, PROBE, LOADERS, DIAGNOSE, NESTS,
    BUFFERS, FUNCTIONAL, REFERENCES,
)  # fmt: skip


@dataclass(frozen=True)
class MissingFeature:
    """A feature that can't be used with this torch, and the names that torch lacks."""

    feature: Feature
    missing: tuple[str, ...]

    @property
    def text(self) -> str:
        """What happens without the feature, and why."""
        return f"{self.feature.without} (torch has no {', '.join(self.missing)})"


def find(path: str) -> Any:
    """Resolve a path of a `Feature`.

    Args:
        path: as in `Feature.names`.

    Returns:
        The object in torch.

    Raises:
        AttributeError, ImportError: this torch has no such name.
    """
    first, _, other = path.partition(" or ")
    if other and not _there(first, find):
        return find(other)
    path, _, attribute = first.partition(" sets ")
    module, _, names = path.partition(":")
    value: Any = importlib.import_module(module)
    for name in names.split("."):
        value = getattr(value, name)
    # our own hooks may be around it by the time a name is looked up
    if attribute and attribute not in inspect.unwrap(value).__code__.co_names:
        raise AttributeError(f"{path} sets no {attribute}")
    return value


def lost_features(lookup: Callable[[str], Any] = find) -> tuple[MissingFeature, ...]:
    """Features that can't be used with this torch.

    Args:
        lookup: resolves a path, or raises `AttributeError` or `ImportError`.
    """
    missing = {path for path in {p for f in FEATURES for p in f.names} if not _there(path, lookup)}
    return tuple(
        MissingFeature(feature, tuple(path for path in feature.names if path in missing))
        for feature in FEATURES
        if missing.intersection(feature.names)
    )


def _there(path: str, lookup: Callable[[str], Any]) -> bool:
    try:
        lookup(path)
    except (AttributeError, ImportError):
        return False
    return True


@cache
def lost() -> tuple[MissingFeature, ...]:
    """Features that can't be used, looked up once a process; ranks inherit the fork server's answer."""
    return lost_features(find)


def silently_lost() -> tuple[str, ...]:
    """What the user is told at the start: each feature that can't be used and says nothing later."""
    off = (feature for feature in FEATURES if not feature.told_in_use and not has(feature))
    return tuple(MissingFeature(f, tuple(p for p in f.names if not _there(p, find))).text for f in off)


@cache
def has(feature: Feature) -> bool:
    """Whether this torch has all names that a feature needs.

    Other features' names are not looked up: FSDP's modules take half as long to import as torch itself.
    """
    return all(_there(path, find) for path in feature.names)
