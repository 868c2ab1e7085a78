"""Keeps torch.compile out of our hooks, so that user code compiles as it would without them.

Where torch has no `skip_code`, the compiler warns the user of our functions that it can't trace.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any, TypeVar

import torch

Hook = TypeVar("Hook", bound=Callable[..., Any])


def untraced(hook: Hook) -> Hook:
    """Mark a hook so that compiled code calls it without tracing it.

    The same as `torch.compiler.disable`, which would import the compiler (a second) even where nothing is
    compiled.
    """
    hook._torchdynamo_disable = True  # type: ignore[attr-defined]
    return hook


def compile_none_of(prefixes: tuple[str, ...]) -> None:
    """Exclude all functions of some modules from compilation, because compiled code calls them through hooks.

    Otherwise the compiler would try to compile each of them, and warn the user of those that it can't trace.
    The exclusion takes effect at the first call of `torch.compile`.

    Args:
        prefixes: prefixes of the modules' names.
    """
    original = torch.compile

    @functools.wraps(original)
    def compile_(*args: Any, **kwargs: Any) -> Any:
        torch.compile = original
        for module in [m for name, m in sys.modules.items() if name.startswith(prefixes)]:
            for code in _codes(module):
                _skip(code)
        return original(*args, **kwargs)

    torch.compile = compile_


def _skip(code: CodeType) -> None:
    try:
        from torch._dynamo.decorators import skip_code
    except ImportError:  # another version of torch: it then prints a warning
        return
    skip_code(code)


def _codes(module: ModuleType) -> Iterator[CodeType]:
    for value in vars(module).values():
        parts = vars(value).values() if isinstance(value, type) else (value,)
        for part in parts:
            if isinstance(part, property):
                part = part.fget
            part = getattr(part, "__wrapped__", part)  # unwraps a context manager's function
            if isinstance(part, FunctionType) and part.__module__ == module.__name__:
                yield from _within(part.__code__)


def _within(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _within(constant)
