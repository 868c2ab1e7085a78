"""What the fork server notes of what it has loaded, and how a new kernel is told of it."""

from __future__ import annotations

import gc
import sys
import weakref
from contextlib import suppress
from types import ModuleType, SimpleNamespace

import ipykernel.ipkernel
import IPython.core.shellapp
import pytest

from dtrain_lab.rank import ipykernel as kernels
from dtrain_lab.rank import preload

HERE = ("dtrain_lab.rank.preload", "json")


@pytest.fixture(autouse=True)
def unloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing has been noted, and little is needed."""
    monkeypatch.setattr(preload, "names", set())
    monkeypatch.setattr(preload, "files", [])
    monkeypatch.setattr(preload, "NEEDED", HERE)
    monkeypatch.setattr(preload, "OPTIONAL", ())


def test_what_is_loaded_is_noted_and_what_comes_later_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    preload.load()
    assert preload.names == set(sys.modules)
    assert {preload.__file__, sys.modules["json"].__file__} <= set(preload.files)
    assert preload.since() == []
    for name in ("first_later", "second_later"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    assert preload.since() == ["second_later", "first_later"]


def test_only_what_is_needed_must_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preload, "OPTIONAL", ("no_such_module", "json.tool"))
    preload.load()
    assert "json.tool" in preload.names
    monkeypatch.setattr(preload, "NEEDED", ("no_such_module",))
    with pytest.raises(ImportError):
        preload.load()


def test_a_freeze_leaves_no_holes_for_children_to_fill() -> None:
    class Garbage:
        itself: Garbage

    gc.disable()
    try:
        garbage = Garbage()
        garbage.itself = garbage
        seen = weakref.ref(garbage)
        del garbage
        preload.freeze()
        assert gc.isenabled()
        assert seen() is not None
    finally:
        gc.unfreeze()
        gc.enable()
    gc.collect()
    assert seen() is None


def test_modules_are_hidden_for_a_while_and_all_else_of_sys_stays() -> None:
    reader = SimpleNamespace(sys=sys)
    before = sys.argv
    with suppress(KeyError), preload.hidden_from(reader):
        assert len(reader.sys.modules) == 0
        assert reader.sys.version == sys.version
        reader.sys.argv = ["other"]
        assert sys.argv == ["other"]
        reader.sys.argv = before
        raise KeyError
    assert reader.sys is sys
    assert sys.argv is before


def test_a_new_kernel_is_told_and_looks_through_no_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    preload.load()
    app = SimpleNamespace(kernel=SimpleNamespace(shell=SimpleNamespace(), debugger=SimpleNamespace()))
    with kernels.modules_known(app):
        assert not ipykernel.ipkernel.sys.modules  # type: ignore[attr-defined]
        assert not IPython.core.shellapp.sys.modules
        monkeypatch.setitem(sys.modules, "a_startup_file_imports", ModuleType("a_startup_file_imports"))
    assert app.kernel._kernel_modules is app.kernel.debugger.kernel_modules is preload.files
    assert app.kernel.shell._sys_modules_keys == set(sys.modules)
    del app.kernel.debugger  # ipykernel makes none where debugpy is missing
    with kernels.modules_known(app):
        pass
