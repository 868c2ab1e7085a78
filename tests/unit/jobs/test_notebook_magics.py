"""Magics in a job's script: they do what IPython does, and lines stay where they are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from dtrain_lab.jobs.notebook.magics import convert_cell
from dtrain_lab.jobs.notebook.script import Script, convert
from dtrain_lab.jobs.notebook.sections import Section, sections
from dtrain_lab.jobs.notebook.source import Cell
from dtrain_lab.rank.job.runner import Runner
from dtrain_lab.wire.jobs.finding import problems

GET = "def get(url):\n    out = !echo fetching {url} $url {len(url)}\n    return out"


def cells(sources: list[str]) -> list[Cell]:
    return [Cell(f"[{n}]", f"id{n}", source) for n, source in enumerate(sources, start=1)]


def made(*sources: str) -> Script:
    return convert(cells(list(sources)), title="a.ipynb")


def in_ipython(sources: list[str]) -> tuple[str, object]:
    """Name of the error that ends a notebook, and its value `out`."""
    quiet = Config({"HistoryManager": {"enabled": False}})
    shell = InteractiveShell(config=quiet)
    try:
        for source in sources:
            done = shell.run_cell(source)
            error = done.error_before_exec or done.error_in_exec
            if error is not None:
                return type(error).__name__, shell.user_ns.get("out")
        return "", shell.user_ns.get("out")
    finally:
        magics = shell.magics_manager.registry["ScriptMagics"]
        getattr(magics, "stop_event_loop", str)()  # older IPythons have none


def as_script(sources: list[str]) -> tuple[str, object]:
    script = made(*sources)
    assert problems(script.findings) == ()
    names: dict[str, object] = {"__name__": "__main__"}
    try:
        exec(compile(script.text, "a.py", "exec", dont_inherit=True), names)
    except Exception as error:  # noqa: BLE001
        return type(error).__name__, names.get("out")
    return "", names.get("out")


@pytest.mark.parametrize(
    "sources",
    [
        ["url = 'old'", GET, "out = get('new')"],
        ["def of(n):\n    !echo {n} > out.txt\nof(3)"],
        [
            "def of(a):\n    return (lambda b: b)(a)",
            "n = 3",
            "out = !echo {of(n)} $$n '$n' \"$n\" {'abc'[1:]}",
        ],
        ["n = 3", "out = !echo {n} $HOME {undefined}"],
        ["n = 3", "out = !echo a b | awk '{print $2}'; echo {n}"],
        ["n = 3", "out = !echo {{n}} ${n}"],
        ["d = 'sub'", "%cd {d}"],
        ["d = {'a': 'my folder'}", '%cd "{d["a"]}"'],
        ['%cd "my folder"'],
        ["%cd my folder"],
        ["%cd -q sub"],
        ["%cd"],
        ["def go(there):\n    %cd {there}\ngo('sub')"],
        ["d = 'sub'", "%env MYVAR={d}/x", "import os", "out = os.environ['MYVAR']"],
        ["%env MYVAR=$UNKNOWN", "import os", "out = os.environ['MYVAR']"],
        ["d = 'sub'", "%%writefile {d}/a.txt\n{d} $d\n"],
        ["%%writefile a.txt\n1\n", "%%writefile --append a.txt\n2\n", "%%writefile -a a.txt\n3\n"],
        ["%%writefile a.txt -a\n1\n", '%%writefile "b c.txt"\nx'],
        ["i = 99", "%%bash\nfor i in 1 2; do echo $i {i}; done > out.txt"],
        ["%%bash\nset -o pipefail\n[[ 1 == 1 ]] && a=(1 2)\necho ${a[1]} | awk '{print}' > out.txt"],
        ["d = 'a b'", "%%bash -s {d} c\necho $1 $2 > out.txt"],
        ["%%bash\nfalse\nexit 3", "out = 1"],
        ["%%bash --no-raise-error\nexit 3", "out = 1"],
        ["%%sh\necho $0 > out.txt"],
        ["%%script false --no-raise-error\nimport json\nx = 1", "out = 1"],
        ["%%script --no-raise-error false\nx = 1", "out = 1"],
        ["%%script false\nx = 1", "out = 1"],
        ["%%script python3 -u\nopen('out.txt', 'w').write('hi')"],
        ["n = 3", "%%sx\necho {n} > out.txt"],
    ],
)
def test_magics_do_what_they_do_in_ipython(
    sources: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    for run in (in_ipython, as_script):
        there = tmp_path / run.__name__
        for folder in ("sub", "my folder", "home"):
            (there / folder).mkdir(parents=True)
        monkeypatch.chdir(there)
        monkeypatch.setenv("HOME", str(there / "home"))
        monkeypatch.setenv("MYVAR", "")
        told = run(sources)
        where = os.path.relpath(Path.cwd(), there)
        files = {str(f.relative_to(there)): f.read_text() for f in there.rglob("*.txt")}
        seen.append((told, where, files))
    (error, out), where, files = seen[0]
    same = str(out).replace("in_ipython", "as_script")  # the home folder in what they print
    assert (error, same, where, files) == (seen[1][0][0], str(seen[1][0][1]), *seen[1][1:])


@pytest.mark.parametrize(
    ("source", "part"),
    [
        ("%cd -", "%cd -"),
        ("%cd -b there", "%cd -b there"),
        ("%%bash --out lines\nls", "%%bash --out"),
        ("%%script\nls", "%%script without a program"),
        ("%run it's.py", "quote"),
        ("%cd it's", "quote"),
        ("%%writefile it's.py\nx", "quote"),
        ("%%bash -c it's\nx", "quote"),
        ("%%distributed 'a\nx = 1", "No closing quotation"),
        # in the words of the notebook's magic
        ("%%distributed --nowait\nx = 1", 'has no option "--nowait". Did you mean --no-wait?'),
        ("%%distributed --timeout abc\nx = 1", '--timeout takes a number, not "abc".'),
        ("%%distributed 1-x\nx = 1", '"1-x" is not a rank set.'),
        ("%%distributed 0 2\nx = 1", "Write several ranks without a space"),
        ("return 1", "'return' outside function"),
        ("x = 1\nfrom __future__ import annotations", "__future__"),
        ("from __future__ import braces", "not a chance"),
        ("%%distributed 0\nx = 1\nfrom __future__ import annotations", "__future__"),
    ],
)
def test_what_a_script_cant_do_is_a_problem(source: str, part: str) -> None:
    found = problems(made(source).findings)
    assert len(found) == 1
    assert part in found[0].message


@pytest.mark.parametrize(
    "source",
    [
        "!ls \\\n  -l \\\n  -a\nx = 1\nraise ValueError",
        "if x:\n    !ls \\\n  -l\nelse:\n    raise ValueError",
        "a = !ls \\\n  -l\n!ls \\\n -l\nb = 2\nraise ValueError",
        "  \n\n%matplotlib inline\nraise ValueError",
        " \n%%time\n \n%time x = 1 + \\\n  2\nraise ValueError",
        "%%distributed 0\n%env A=1 \\\n  2\n# no\nraise ValueError",
        "%%distributed 0\nfrom __future__ import (\n  annotations)\nraise ValueError",
    ],
)
def test_lines_after_a_magic_over_several_lines_stay_where_they_are(source: str) -> None:
    converted = convert_cell(Cell("[1]", "a", source))
    assert problems(converted.findings) == ()
    lines = converted.source.split("\n")
    assert len(lines) == source.count("\n") + 1
    assert lines[-1].strip() == "raise ValueError"
    compile(converted.source, "a", "exec")


@pytest.mark.parametrize(
    ("source", "converted"),
    [
        ("%%distributed 0\n# later", "if rank in (0,): pass\n    # later"),
        ("%%distributed 0\n", "if rank in (0,): pass"),
        ("%%distributed all\nx = 1", "\nx = 1"),
        (
            "%%distributed 0\nfrom __future__ import annotations\nx = 1",
            "if rank in (0,):\n    pass\n    x = 1",
        ),
    ],
)
def test_ranks_in_front_of_a_cell(source: str, converted: str) -> None:
    script = made(source)
    assert problems(script.findings) == ()
    assert sections(script.text)[-1].source == converted
    compile(script.text, "a.py", "exec", dont_inherit=True)


def test_options_of_a_cell_that_a_job_has_not_are_told() -> None:
    several = made("%%distributed 0 --by-rank --cluster b --timeout 5 --no-wait\nx = 1").findings
    assert [(f.severity, f.code, f.message.split(":")[0]) for f in several] == [
        ("warning", "option_dropped", "--cluster b is left out"),
        ("warning", "option_dropped", "--timeout 5 is left out"),
        ("note", "option_dropped", "--no-wait is left out"),
    ]


FIELDS = """
from dataclasses import dataclass, fields
@dataclass
class A:
    lr: float = 0.1
kinds = [f.type for f in fields(A)]
kinds
"""


@pytest.mark.parametrize("first", ["x = 1", "'''Doc'''\nfrom __future__ import annotations\nx = 1"])
def test_annotations_are_what_the_notebook_says(first: str, tmp_path: Path) -> None:
    """By hand and in ranks, whose own `from __future__` must not become the notebook's."""
    kind = "float" if "annotations" in first else float
    script = made(first, FIELDS)
    names: dict[str, object] = {"__name__": "__main__"}
    exec(compile(script.text, "a.py", "exec", dont_inherit=True), names)
    assert names["kinds"] == [kind]
    runner = Runner(tmp_path)
    in_rank: dict[str, object] = {"__name__": "__main__"}
    for part in sections(script.text):
        runner._execute(Section(part.name, part.id, part.source, part.first_line), in_rank)
    assert in_rank["kinds"] == [kind]
