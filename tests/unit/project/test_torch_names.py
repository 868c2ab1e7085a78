"""Private names of torch stand in one place, and what lacks one is said."""

from __future__ import annotations

import ast
import asyncio
import functools
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from packaging.version import Version
from torch.nn.parallel import DistributedDataParallel

import dtrain_lab
from dtrain_lab.rank import ipykernel
from dtrain_lab.rank.notes import say_in_first_cell
from dtrain_lab.rank.torch import fsdp, names

PACKAGE = Path(dtrain_lab.__file__).parent
FENCE = PACKAGE / "rank" / "torch"
PATHS = sorted({path for feature in names.FEATURES for path in feature.names})
PRIVATE = {
    part for path in PATHS for part in path.replace(" sets ", ".").replace(":", ".").split(".")
    if part.startswith("_") and not part.startswith("__")
} | {
    "_get_closed_form_lr", "_num_yielded", "_shutdown_workers", "_has_rebuilt_buckets", "_join_config",
}  # fmt: skip


def read(path: Path) -> set[str]:
    """Names shared with others: attributes, imports, methods for torch, and strings that name one."""
    found: set[str] = set()
    tree = ast.parse(path.read_text())
    of_torch = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("torch")
        for alias in node.names
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and not (
            isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
        ):
            found.add(node.attr)
        elif isinstance(node, ast.ClassDef) and {ast.unparse(base) for base in node.bases} & of_torch:
            found |= {part.name for part in node.body if isinstance(part, ast.FunctionDef)}
        elif isinstance(node, ast.ImportFrom):
            found |= {*(alias.name for alias in node.names), *(node.module or "").split(".")}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(node.value)
    return found


def test_private_names_of_torch_stand_behind_the_fence() -> None:
    outside = [path for path in PACKAGE.rglob("*.py") if not path.is_relative_to(FENCE)]
    assert len(outside) > 200
    leaks = {str(path.relative_to(PACKAGE)): found for path in outside if (found := read(path) & PRIVATE)}
    assert leaks == {"training/batch_size/learning_rate.py": {"_get_closed_form_lr"}}


WITHOUT_NEED = {
    "_version": "documented",
    "_torchdynamo_disable": "only set",
    "_has_rebuilt_buckets": "only set",
    "_delay_all_reduce_all_params": "asked for with a default",
    "_num_yielded": "asked for with a default",
    "_shutdown_workers": "asked for with a default",
}
"""Private names behind the fence without which nothing ends: why."""
OTHERS = {
    "api/prompts.py": {"_allow_stdin"},
    "services/views/locked_views.py": {"_socket"},
    "kernel/execute_request.py": {"_getframe"},
    "kernel/debugger/debugger.py": {"_publish_debug_event"},
    "kernel/output/beside_cells.py": {"_create_subshell", "_delete_subshell"},
    "kernel/output/send_queue.py": {"_topic"},
    "rank/cells/citations.py": {"_getframe"},
    "rank/cells/shell_errors.py": {"_getframe"},
    "rank/frameworks/torch_libraries.py": {"_shared_state"},
    "rank/debugger/debugger.py": {"_getframe"},
    "rank/ipykernel.py": {"_kernel_modules", "_sys_modules_keys"},
    "rank/output/inline_figures.py": {"_get_backend_or_none"},
    "rank/debugger/job_debugger.py": {"_getframe"},
    "rank/link/link.py": {"_exit"},
    "rank/rank.py": {"_exit", "_run_exitfuncs"},
    "rank/link/location.py": {"_current_frames"},
    "rank/child_processes.py": {"_default_context", "_actual_context"},
    "rank/launchers.py": {"_args", "_kwargs", "_MultiProcessingLauncher", "_strategy"},
    "rank/job/runner.py": {"_shutdown", "_run_exitfuncs", "_exit"},
    "rank/cells/backward_threads.py": {"_DummyThread", "_active", "_current_frames"},
    "rank/group/main_thread.py": {"_current_frames"},
    "rank/debugger/tracing.py": {"_translate_id_to_dap", "_thread_events"},
    "node/forkserver/server.py": {"_exit"},
    "node/admission/slot_queue.py": {"_exit"},
    "training/result_use.py": {"_getframe"},
}
"""Private names of ipykernel, IPython, pydevd and Python, as ARCHITECTURE.md lists them: file → names."""


def private(path: Path) -> set[str]:
    """Private attributes that a file takes from what it has not made itself."""
    tree = ast.parse(path.read_text())
    own = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    own |= {
        node.attr for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) in ("self", "cls")
    }  # fmt: skip
    taken = {
        node.attr for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__")
    }  # fmt: skip
    return taken - own


def test_each_private_name_behind_the_fence_has_a_feature() -> None:
    """One that no feature names would end a rank where a new torch lacks it."""
    used = {name: path.name for path in FENCE.glob("*.py") for name in private(path)}
    unlisted = {name: file for name, file in used.items() if name not in PRIVATE | set(WITHOUT_NEED)}
    assert unlisted == {}


def test_private_names_of_others_stand_where_the_architecture_says() -> None:
    ours = {"_fields", "_replace", "_info", "_actions", "_stream"}  # of a NamedTuple; of our own classes
    found = {
        str(path.relative_to(PACKAGE)): names
        for path in PACKAGE.rglob("*.py")
        if not path.is_relative_to(FENCE) and (names := private(path) - ours)
    }
    assert found == OTHERS


def test_the_architecture_lists_each_private_name_of_others() -> None:
    section = (PACKAGE.parent / "ARCHITECTURE.md").read_text().partition("## Private parts of others")[2]
    listed = set(re.findall(r"\w+", section))
    assert set().union(*OTHERS.values()) - listed == set()


def test_an_ipykernel_without_its_lock_gets_one_of_ours() -> None:
    kernel = SimpleNamespace()
    assert ipykernel.main_lock(kernel) is ipykernel.main_lock(kernel)
    with_lock = SimpleNamespace(_main_asyncio_lock=asyncio.Lock())
    assert ipykernel.main_lock(with_lock) is with_lock._main_asyncio_lock
    ipykernel.flush(SimpleNamespace())


def test_this_torch_has_them_all() -> None:
    before = Version(torch.__version__) < Version("2.13")  # the first with `FSDPModule.reset_iter_state`
    assert [one.feature.key for one in names.lost()] == (["sharded"] if before else [])


@pytest.mark.parametrize("missing", PATHS)
def test_a_renamed_one_turns_its_features_off_in_words(missing: str) -> None:
    def found(path: str) -> object:
        if path == missing:
            raise AttributeError(path)
        return names.find(path)

    already = {one.feature: one.missing for one in names.lost()}
    lost = {one.feature: one.missing for one in names.lost_features(found)}
    wanted = {f: tuple(n for n in f.names if n == missing or n in already.get(f, ())) for f in names.FEATURES}
    assert lost == {feature: gone for feature, gone in wanted.items() if gone}
    assert all(feature.without.endswith(".") for feature in lost)


def test_what_is_off_and_says_nothing_later_is_said_in_the_first_cell(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(names, "has", lambda f: f not in (names.LOADERS, names.MODELS))
    monkeypatch.setattr(names, "_there", lambda *_: False)
    heard: list[Callable[[object], None]] = []
    events = SimpleNamespace(register=lambda _, hear: heard.append(hear))
    say_in_first_cell(events, names.silently_lost())
    for _ in range(2):
        heard[0](None)
    [name] = names.LOADERS.names
    assert capsys.readouterr().err == f"dtrain-lab: {names.LOADERS.without} (torch has no {name})\n"
    say_in_first_cell(events, ())
    assert len(heard) == 1


@pytest.mark.parametrize(
    "path",
    [
        "torch.distributed:no_such_name",
        "torch.no_such_module:x",
        "torch.nn:Module.__init__ sets no_such_name",
    ],
)
def test_what_is_not_there_is_not_found(path: str) -> None:
    with pytest.raises((AttributeError, ImportError)):
        names.find(path)


def test_one_of_two_names_is_enough() -> None:
    for path in ("torch.nn:Module or torch.nn:no_such_name", "torch.nn:no_such_name or torch.nn:Module"):
        assert names.find(path) is torch.nn.Module
    with pytest.raises(AttributeError):
        names.find("torch.nn:no_such_name or torch.nn:nor_this_one")


def test_a_name_is_found_beneath_our_own_hook(monkeypatch: pytest.MonkeyPatch) -> None:
    """A job's rank looks names up one by one, when DDP's constructor has a hook already."""
    construct = DistributedDataParallel.__init__

    @functools.wraps(construct)
    def hooked(*args: object, **kwargs: object) -> None:
        construct(*args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(DistributedDataParallel, "__init__", hooked)
    assert names.find(f"{names.DDP}.__init__ sets _module_parameters") is hooked


def test_without_fsdp2_nobody_looks_through_all_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    """Torch below 2.13 has no list of sharded models."""
    monkeypatch.setattr(fsdp, "FSDPModule", type("FSDPModule", (), {}))
    monkeypatch.setattr(names, "has", lambda _: False)
    monkeypatch.setattr("gc.get_objects", lambda: pytest.fail("it looked through all"))
    assert fsdp.roots() == []
