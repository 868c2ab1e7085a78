"""DDP's error about parameters that got no gradient, with their names.

In the next forward pass, DDP notices that the last backward reached only some parameters, and raises a long
error with their numbers. This error is raised in the same place; nothing else changes.
"""

from __future__ import annotations

import functools
import re
import traceback
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.nn.parallel import DistributedDataParallel

from dtrain_lab.errors import UnusedParameters

NAMED = 3
"""Maximum number of parameters named in a sentence."""
WRAP = "DistributedDataParallel(model, find_unused_parameters=True)"
CHANGED = "not compatible with static_graph"
UNFINISHED = "Expected to have finished reduction in the prior iteration"
NUMBERS = re.compile(r"indices which did not receive grad for rank \d+: ([\d ]+)")

_explained = False
_order: weakref.WeakKeyDictionary[Any, list[str]] = weakref.WeakKeyDictionary()
"""DDP model → names of the parameters that it averages, in the order of torch's numbers."""
_optimized: weakref.WeakSet[Any] = weakref.WeakSet()
"""Models that `dt.optimize` has wrapped."""


def explain(untraced: Callable[[Any], Any] = lambda hook: hook) -> None:
    """Make DDP models of this process raise `UnusedParameters` instead of torch's error.

    Args:
        untraced: keeps torch.compile out of a hook.
    """
    global _explained
    if _explained:
        return
    _explained = True
    construct, original = DistributedDataParallel.__init__, DistributedDataParallel.forward

    @functools.wraps(construct)  # frameworks inspect its signature
    def init_ddp(self: Any, /, *args: Any, **kwargs: Any) -> None:
        construct(self, *args, **kwargs)
        note(self)

    @functools.wraps(original)
    def forward(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        if torch.compiler.is_compiling():
            return original(self, *args, **kwargs)
        try:
            return original(self, *args, **kwargs)
        except RuntimeError as error:
            if not str(error).startswith(UNFINISHED):
                raise
            explained = unfinished(self, _names(self, str(error)))
        raise explained

    run = torch.autograd.backward

    @functools.wraps(run)
    def backward(*args: Any, **kwargs: Any) -> Any:
        try:
            return run(*args, **kwargs)
        except RuntimeError as error:
            if CHANGED not in str(error):
                raise
        raise _changed("A parameter got a gradient for the first time after the first step")

    torch.autograd.backward = untraced(backward)
    DistributedDataParallel.__init__ = init_ddp
    DistributedDataParallel.forward = forward


def note(model: Any, *, optimized: bool = False) -> None:
    """Store the order of a model's parameters; called when its reducer is created.

    Args:
        model: the DDP model.
        optimized: whether `dt.optimize` has wrapped it.
    """
    _order[model] = _averaged(model)
    if optimized:
        _optimized.add(model)


def unfinished(model: Any, names: Sequence[str]) -> UnusedParameters:
    """The error for a model whose last backward pass has left parameters out.

    Args:
        model: the DDP model.
        names: those parameters, as the user's module names them; empty if they aren't known.
    """
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    which = ", ".join(names[:NAMED]) + more if names else "Some parameters"
    fact = f"{which} got no gradient in the last step"
    them = "it" if len(names) == 1 else "them"
    if getattr(model, "static_graph", False):
        return _changed(f"{fact}, and did before")
    if getattr(model, "find_unused_parameters", False):
        return UnusedParameters(
            f"{fact}: forward returns an output that needs {them}, and the loss leaves it out.",
            "Return from forward only what the loss uses, as tensors, or in tuples and dicts.",
        )
    wrap = f"dt.optimize({WRAP}, optimizer, …)" if model in _optimized else WRAP
    return UnusedParameters(
        f"{fact}: the loss leaves {them} out.",
        f"Write {wrap}, or, for parameters that are never trained, requires_grad_(False) before.",
    )


def _changed(fact: str) -> UnusedParameters:
    return UnusedParameters(
        f"{fact}: static_graph=True needs the same parameters in each step.",
        f"Write {WRAP} instead of static_graph=True.",
    )


def _averaged(model: Any) -> list[str]:
    ignored = set(getattr(model, "parameters_to_ignore", ()))
    return [n for n, p in model.module.named_parameters() if p.requires_grad and n not in ignored]


def explained(error: BaseException) -> BaseException:
    """Return the error to report: torch's, with parameters' names; it lacks them where a model is compiled.

    Compiled code bypasses DDP's `forward`, in which the error is replaced otherwise.
    """
    if type(error) is not RuntimeError or not str(error).startswith(UNFINISHED):
        return error
    for frame, _ in traceback.walk_tb(error.__traceback__):
        model = frame.f_locals.get("self")
        if isinstance(model, DistributedDataParallel):
            return unfinished(model, _names(model, str(error))).with_traceback(error.__traceback__)
    return error


def _names(model: Any, text: str) -> list[str]:
    match = NUMBERS.search(text)
    numbers = [int(number) for number in match[1].split()] if match else []
    ordered = _order.get(model) or _averaged(model)
    return [ordered[n] for n in numbers] if all(n < len(ordered) for n in numbers) else []
