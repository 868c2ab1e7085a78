"""Notebook → script: what stays, what is replaced, and what is refused with its cell and line."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dtrain_lab.errors import BadNotebook, BadRequest
from dtrain_lab.jobs.notebook.script import Script, convert
from dtrain_lab.jobs.notebook.sections import sections
from dtrain_lab.jobs.notebook.source import Cell, read
from dtrain_lab.wire.jobs.finding import problems


def made(*sources: str | tuple[str, str], **parameters: object) -> Script:
    cells = [
        Cell(f"[{n}]", f"id{n}", s if isinstance(s, str) else s[0], () if isinstance(s, str) else (s[1],))
        for n, s in enumerate(sources, start=1)
    ]
    return convert(cells, title="a.ipynb", parameters=parameters)


def body(*sources: str) -> str:
    """The last cell's source in the script."""
    return [s for s in sections(made(*sources).text) if s.name][-1].source


def test_plain_code_stays_as_it_is() -> None:
    source = "x = 1\n\n\ndef f():\n    '''%pip install no\n    !ls'''\n    return x"
    script = made(source)
    assert sections(script.text)[-1].source == source
    assert script.findings == ()


@pytest.mark.parametrize(
    ("source", "converted"),
    [
        ("%matplotlib inline\nx = 1", "pass  # %matplotlib inline\nx = 1"),
        ("%load_ext dtrain_lab", "pass  # %load_ext dtrain_lab"),
        ("%distributed start --ranks 4", "pass  # %distributed start --ranks 4"),
        ("x = %time f(3)", "x = f(3)"),
        ("%time x = f(3)", "x = f(3)"),
        ("%env A=b c", "__import__(\"os\").environ.__setitem__('A', 'b c')"),
        (
            "files = !ls {folder}",
            "files = _shell(_expanded('ls {folder}', globals() | locals()), captures=True)",
        ),
        ("if 1:\n    !ls", "if 1:\n    _shell('ls')"),
        ("%%time\nx = 1", "\nx = 1"),
        ("%%distributed\nx = 1", "\nx = 1"),
        ("%%distributed --timeout 5 --cluster a\nx = 1", "\nx = 1"),
        ("%%distributed 0,2-3 --no-wait\nx = 1\ny = 2", "if rank in (0, 2, 3,):\n    x = 1\n    y = 2"),
        ("%%distributed 1\ns = '''a\n b'''", "if rank in (1,):\n    s = '''a\n b'''"),
        ("%run a.py --lr 0.1", "_run_file('a.py', ['--lr', '0.1'], inside=False)"),
        ("%run -i a.py", "_run_file('a.py', [], inside=True)"),
        ("os?", "pass  # os?"),
        ("x = await f()", "x = _run(f())"),
        ("for i in [1]:\n    print(await f(await g(i)))", "for i in [1]:\n    print(_run(f(_run(g(i)))))"),
        ("async def f():\n    await g()", "async def f():\n    await g()"),
        ("%%bash\necho hi\n", "_script('bash', 'echo hi\\n')"),
        ("%%writefile a.py\nx = 1\n", "_write_file('a.py', 'x = 1\\n', append=False)"),
        ("%%html\n<b>", ""),
    ],
)
def test_ipython_syntax_becomes_python(source: str, converted: str) -> None:
    assert body(source) == converted.rstrip("\n")
    assert problems(made(source).findings) == ()


def test_line_numbers_stay() -> None:
    source = "%pip install a\n%%not a magic here".replace("%%not", "# %%not")
    source += "\n!ls\n\ntext = '''\n%cd\n'''\n%time y = 2\nraise ValueError(1)"
    converted = body("import os", source)
    assert converted.count("\n") == source.count("\n")
    assert converted.split("\n")[8] == "raise ValueError(1)"


@pytest.mark.parametrize(
    ("source", "line", "part"),
    [
        ("x = 1\n%foo bar", 2, "%foo"),
        ("\n%%cython\nx", 2, "%%cython"),
        ("%distributed pull x", 1, "pull"),
        ("x = (", 1, "SyntaxError"),
        ("%%distributed 2-1\nx = 1", 1, "runs backwards"),
        ("x = 1\nasync with a:\n    pass", 2, "async with"),
        ("get_ipython().kernel.do_shutdown(1)\nget_ipython().foo(2)", 2, "get_ipython()"),
    ],
)
def test_what_cant_be_converted_is_a_problem_with_its_place(source: str, line: int, part: str) -> None:
    found = problems(made("y = 1", source).findings)
    assert [(f.cell, f.line) for f in found][:1] == [("[2]", line)]
    assert part in found[0].message
    assert found[0].fix


def test_tags_parameters_and_installs() -> None:
    script = made(
        ("lr = 0.1", "parameters"), ("boom(", "skip-in-job"), "%pip install -U einops", lr=0.5, name="a'b"
    )
    names = [s.name for s in sections(script.text)]
    assert names == ["", "[1]", "parameters", "[3]"]
    assert sections(script.text)[2].source == 'lr = 0.5\nname = "a\'b"'
    assert script.installs == ("-U einops",)
    assert [f.code for f in script.findings] == ["install", "cell_skipped"]
    assert [s.name for s in sections(made("x = 1", lr=2).text)] == ["", "parameters", "[1]"]


@pytest.mark.parametrize("name", ["a b", "1a", "class", "x; import os", "", "a\nb"])
def test_hostile_parameter_names_are_refused(name: str) -> None:
    with pytest.raises(BadRequest, match="parameter"):
        made("x = 1", **{name: 1})


@given(value=st.text() | st.integers() | st.lists(st.text() | st.booleans() | st.none()))
def test_any_value_arrives_as_it_is(value: object) -> None:
    part = next(s for s in sections(made("x = 1", value=value).text) if s.name == "parameters")
    (statement,) = ast.parse(part.source).body
    assert isinstance(statement, ast.Assign)
    assert ast.literal_eval(statement.value) == value


def test_a_script_with_everything_is_python_and_runs_alone(tmp_path: Path) -> None:
    """No torchrun, no rank, no product: one process."""
    script = made(
        "%load_ext dtrain_lab",
        "import asyncio\nasync def f():\n    return 4\nname = 'there'",
        "n = await f()\nwords = !echo hi {name} $name",
        "!echo once {n} > out.txt",
        "%%writefile b.txt\nline",
        "%%distributed 0\nprint(words, n, rank, world_size)",
    )
    (tmp_path / "main.py").write_text(script.text)
    run = [sys.executable, "-P", str(tmp_path / "main.py")]
    done = subprocess.run(run, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout == "['hi there there'] 4 0 1\n"
    assert (tmp_path / "out.txt").read_text() == "once 4\n"
    assert (tmp_path / "b.txt").read_text() == "line\n"


@pytest.mark.parametrize("launcher", ["torchrun's", "ours"])
def test_what_runs_once_on_a_node_is_waited_for_by_its_other_ranks(tmp_path: Path, launcher: str) -> None:
    """Two ranks of one node, and one of another; what only rank 1 calls runs, too."""
    script = made(
        "for turn in range(2):\n    !sleep 0.4; echo {turn} >> shared.txt; echo said {turn}",
        "print(open('shared.txt').read().split())",
        "%%writefile made_here.py\nA = 7",
        "import made_here\nprint(made_here.A)",
        "%%distributed 1\n!sleep 3 & printf '50 %%\\r100 %%\\n'; echo of rank 1",
    )
    told = []
    for node, local, rank in ((0, 0, 0), (0, 1, 1), (1, 0, 2)):
        work = tmp_path / f"node{node}"
        (work / str(local)).mkdir(parents=True)
        (work / "main.py").write_text(script.text)
        given = {"RANK": str(rank), "LOCAL_RANK": str(local), "WORLD_SIZE": "3", "PATH": os.environ["PATH"]}
        if launcher == "ours":
            given["DTRAIN_JOB"] = str(tmp_path)
        else:
            given["TORCHELASTIC_ERROR_FILE"] = str(work / str(local) / "error.json")
        run = [sys.executable, "-B", "main.py"]
        told.append(subprocess.Popen(run, env=given, cwd=work, stdout=subprocess.PIPE))
    texts = [process.communicate(timeout=30)[0].decode() for process in told]
    assert [process.returncode for process in told] == [0, 0, 0]
    for text in texts:
        assert "['0', '1']\n7\n" in text
    assert sorted("".join(texts[:2]).split("\n")).count("said 0") == 1
    assert texts[2].count("said") == 2
    assert [text.count("50 %\r100 %\nof rank 1") for text in texts] == [0, 1, 0]


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"cells": 3}', '{"a": 1}', '{"cells": [{"cell_type": 1}]}', "null"]
)
def test_no_notebook_is_an_error_in_words(text: str) -> None:
    with pytest.raises(BadNotebook, match=r"x\.ipynb"):
        read(text, "x.ipynb")


def test_cells_are_named_by_their_place() -> None:
    book = {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {},
        "cells": [
            {"cell_type": "markdown", "metadata": {}, "source": "a", "id": "m"},
            {
                "cell_type": "code",
                "metadata": {"tags": ["x"]},
                "source": ["a = 1\n", "b"],
                "id": "c",
                "outputs": [],
            },
            {"cell_type": "code", "metadata": {}, "source": "", "id": "d", "outputs": []},
        ],
    }
    cells = read(json.dumps(book), "x.ipynb")
    assert [(c.name, c.id, c.source, c.tags, c.runs) for c in cells] == [
        ("[1]", "c", "a = 1\nb", ("x",), True),
        ("[2]", "d", "", (), False),
    ]


SPAWNS = """
import os
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

def demo(rank, world_size):
    os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "localhost", "12355"
    dist.init_process_group("gloo", rank=rank, world_size=world_size)
    t = torch.tensor([rank + 1.0])
    dist.all_reduce(t)
    open(f"sum{rank}", "a").write(str(t.item()))
    dist.destroy_process_group()

def start(fn):
    processes = [mp.Process(target=fn, args=(r, 2)) for r in range(2)]
    for p in processes:
        p.start()
    for p in processes:
        p.join()
"""


def test_a_printed_script_that_spawns_runs_under_plain_torchrun(tmp_path: Path) -> None:
    """As in PyTorch's tutorials: they run one demo after the other."""
    script = made(SPAWNS, "mp.spawn(demo, args=(world_size,), nprocs=world_size)\nstart(demo)")
    (tmp_path / "main.py").write_text(script.text)
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    torchrun = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node=2",
        "main.py",
    ]
    done = subprocess.run(
        torchrun, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert [(tmp_path / f"sum{rank}").read_text() for rank in (0, 1)] == ["3.03.0", "3.03.0"]


FRAMEWORKS = """
import os, accelerate
from pytorch_lightning.strategies.launchers.multiprocessing import _MultiProcessingLauncher
strategy = "ddp_notebook"
launcher = object.__new__(_MultiProcessingLauncher)
print(os.environ["ACCELERATE_USE_CPU"], launcher.launch(max, 1, 2, trainer=None))
"""


def test_a_printed_script_tells_frameworks_of_the_ranks(tmp_path: Path) -> None:
    """Under plain torchrun on CPUs Accelerate sees one process, and Lightning would make more of them."""
    (tmp_path / "main.py").write_text(
        made(FRAMEWORKS, "if 'OWN' in os.environ:\n    torch.distributed.init_process_group()").text
    )
    ranks = {"RANK": "0", "WORLD_SIZE": "2", "CUDA_VISIBLE_DEVICES": ""}
    run = [sys.executable, "main.py"]
    done = subprocess.run(
        run,
        cwd=tmp_path,
        env={**os.environ, **ranks},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.stdout == "1 2\n", done.stderr[-3000:]


@pytest.mark.parametrize(
    "code",
    [
        "import torch\nimport ignite.distributed as idist\nidist.spawn('gloo', train, (), nproc_per_node=2)",
        "import torch\nfrom timm.utils import init_distributed_device\nat = init_distributed_device(args)",
    ],
)
def test_ignite_and_timm_make_the_group_of_a_printed_script_themselves(code: str) -> None:
    assert "torch.distributed.init_process_group(" not in made(code).text
