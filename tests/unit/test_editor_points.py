"""Breakpoints of one file that an editor opens by several names, and those that wait for their file."""

from __future__ import annotations

from pathlib import Path

from dtrain_lab.rank.debugger.points import BELOW, MOVED, Placed, loaded
from dtrain_lab.services.debugger.editor_points import EditorPoints

VERIFIED = {"verified": True}


def test_a_file_with_two_names_has_the_breakpoints_of_both(tmp_path: Path) -> None:
    file, link = tmp_path / "model.py", tmp_path / "link.py"
    file.touch()
    link.symlink_to(file)
    points = EditorPoints()
    assert points.file_of(str(link), None) == str(link)
    assert points.file_of(str(file), None) == str(link), "ranks know it by one name"
    points.told(str(link), [{"line": 3}], {}, [VERIFIED])
    assert points.others(str(file), [{"line": 5}]) == [{"line": 3}]
    assert points.others(str(file), [{"line": 3}]) == []
    assert points.shown(str(file)) == str(link), "a stop is shown where the breakpoint is"
    points.told(str(link), [], {}, [])
    assert points.shown(str(file)) == str(file)


def test_a_job_knows_a_file_of_its_notebooks_folder_by_a_link_too(tmp_path: Path) -> None:
    folder, link = tmp_path / "work", tmp_path / "link"
    folder.mkdir()
    (folder / "model.py").touch()
    link.symlink_to(folder)
    points = EditorPoints()
    assert points.file_of(f"{link}/model.py", str(folder)) == f"{folder}/model.py"
    assert points.file_of("/no/such.py", str(folder)) == "/no/such.py"


def test_once_a_file_is_loaded_its_breakpoints_are_told_once() -> None:
    points = EditorPoints()
    points.file_of("/a.py", None)
    waits = {"verified": False, "reason": "pending", "message": "…", "line": 3}
    [made] = points.told("/a.py", [{"line": 3}], {"path": "/a.py"}, [waits])
    [event] = points.loaded("/a.py")
    assert event["reason"] == "changed"
    assert event["breakpoint"] == {
        "verified": True,
        "line": 3,
        "id": made["id"],
        "source": {"path": "/a.py"},
    }
    assert points.loaded("/a.py") == []


def test_each_breakpoint_has_an_id_of_its_own() -> None:
    points = EditorPoints()
    made = [points.told(path, [{"line": 1}], {}, [{**VERIFIED, "id": 0}])[0]["id"] for path in ("/a", "/b")]
    assert made == [1, 2]


def test_a_rank_says_why_a_breakpoint_does_not_stop_where_it_was_set(tmp_path: Path) -> None:
    file = tmp_path / "model.py"
    file.write_text("def f(x):\n\n    # why\n    return x\n\n# end\n")
    placed = Placed(str(file), [{"line": n} for n in (2, 4, 6, 99)], str(file), cell=False, rank=0)
    assert placed.points == [{"line": 4}, {"line": 4}]
    told = placed.told([{"verified": True, "line": 4}, {"verified": True, "line": 4}])
    assert [(p["verified"], p["line"], p.get("message")) for p in told] == [
        (True, 4, MOVED),
        (True, 4, None),
        (False, 6, BELOW),
        (False, 99, BELOW),
    ]
    assert not told[0]["loaded"]
    file.write_text("def f(:\n")
    placed = Placed(str(file), [{"line": 1}], str(file), cell=False, rank=0)
    assert "no valid Python: line 1" in placed.told([])[0]["message"]
    cell = Placed(str(file), [{"line": 9}], "dtrain-cell:1.py", cell=True, rank=0)
    assert cell.points == [{"line": 9}], "only IPython can read it"


def test_a_module_is_loaded_under_each_name_of_its_file(tmp_path: Path) -> None:
    (tmp_path / "test_editor_points.py").symlink_to(__file__)
    assert loaded(__file__)
    assert loaded(str(tmp_path / "test_editor_points.py"))
    assert not loaded(str(tmp_path / "other.py"))
