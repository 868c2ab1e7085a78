"""Files beside a notebook that its cells import: found, and what they stand for in the job."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from dtrain_lab.jobs.check import CheckContext, check, local_modules
from dtrain_lab.jobs.check.frameworks import Chosen
from dtrain_lab.jobs.check.notebook import imports, running
from dtrain_lab.jobs.notebook.script import convert
from dtrain_lab.jobs.notebook.source import Cell
from dtrain_lab.services.plans.notebook_code import Code
from dtrain_lab.services.plans.packing import Packed

TORCH = "import torch.distributed as dist\ndef total(x):\n    dist.all_reduce(x)\n"
WORKERS = "import tensorflow as tf\nstrategy = tf.distribute.MultiWorkerMirroredStrategy()"


def cells(*sources: str) -> tuple[Cell, ...]:
    return tuple(Cell(f"[{n}]", f"id{n}", source) for n, source in enumerate(sources, start=1))


def code(sources: list[str], files: dict[str, str]) -> Code:
    return Code.of(cells(*sources), Packed({path: text.encode() for path, text in files.items()}, ()))


def script(sources: list[str], files: dict[str, str], **more: Any) -> str:
    read = code(sources, files)
    own = {"local_torch_text": read.torch_text, "makes_group": read.makes_group}
    return convert(cells(*sources), title="train.ipynb", **own, **more).text


def in_group(text: str) -> bool:
    made = ("device = torch.device" in text, "destroy_process_group" in text)
    assert made[0] == made[1]
    return made[0]


@pytest.mark.parametrize(
    ("source", "files"),
    [
        ("import helper", {"helper.py": TORCH}),
        ("from helper import total as t", {"helper.py": TORCH}),
        ("import outer", {"outer.py": "def f():\n    import inner\n", "inner.py": "import lightning"}),
        ("import pack.model", {"pack/__init__.py": "", "pack/model.py": TORCH}),
        ("from pack import model", {"pack/model.py": TORCH}),
        ("import pack", {"pack/__init__.py": "from .model import total", "pack/model.py": TORCH}),
        ("import pack.a", {"pack/__init__.py": "", "pack/a.py": "from . import b", "pack/b.py": TORCH}),
        ("import sys\nsys.path.insert(0, 'src')\nimport m", {"src/m.py": TORCH}),
        ("import sys, os\nsys.path.append(os.path.abspath('src'))\nimport m", {"src/m.py": TORCH}),
        ("import sys\nsys.path.insert(0, str(Path.cwd() / 'src'))\nimport m", {"src/m.py": TORCH}),
        ("lib = os.path.join(os.getcwd(), 'a')\nsys.path += [f'{lib}/b']\nimport m", {"a/b/m.py": TORCH}),
        (
            "from sys import path\npath[:0] = [Path('src').resolve().as_posix()]\nimport m",
            {"src/m.py": TORCH},
        ),
        ("%cd src\nimport m", {"src/m.py": TORCH}),
        ("os.chdir('a')\nsys.path = ['b', *sys.path]\nimport m", {"a/b/m.py": TORCH}),
        (
            "import setup_paths\nimport m",
            {
                "setup_paths.py": "here = Path(__file__).parent\nsys.path.append(str(here / 'src'))",
                "src/m.py": TORCH,
            },
        ),
        ("import importlib\nm = importlib.import_module('a.b.m')", {"a/b/m.py": TORCH}),
        ("m = __import__('m')", {"m.py": TORCH}),
        ("exec(open('src/m.py').read())", {"src/m.py": TORCH}),
        ("exec(compile(Path('m.py').read_text(), 'm.py', 'exec'), globals())", {"m.py": TORCH}),
        ("%run helper.py", {"helper.py": TORCH}),
        ("import ring, torch_geometric", {"ring.py": "import ring"}),
        ("import ours_in_the_environment", {}),
        ("import pytorch_lightning", {}),
    ],
)
def test_what_cells_import_gives_ranks_their_group_and_device(source: str, files: dict[str, str]) -> None:
    text = script([source], files)
    assert in_group(text)
    assert "torch.distributed.init_process_group(" in text


@pytest.mark.parametrize(
    ("source", "files"),
    [
        ("import numpy, pandas, sklearn.svm, dtrain_lab as dt", {}),
        ("import helper", {"helper.py": "import numpy\nprint('torch')"}),
        ("import pack", {"pack/__init__.py": "", "other.py": TORCH}),
        ("print(rank)", {"helper.py": TORCH}),
        ("import jax", {}),
        ("try:\n    import some_extra\nexcept ImportError:\n    pass", {}),
        ("import tensorflow, ours_in_the_environment", {}),
        ("import helper", {"helper.py": "import mindspore"}),
    ],
)
def test_scripts_of_notebooks_without_torch_stay_as_they_are(source: str, files: dict[str, str]) -> None:
    assert not in_group(script([source], files))
    assert script([source], files) == convert(cells(source), title="train.ipynb").text


def test_files_change_nothing_where_the_cells_name_torch() -> None:
    launches = {"helper.py": "import torch.multiprocessing as mp\ndef f():\n    mp.spawn(print)\n"}
    source = "import torch, helper\nprint(device)"
    assert script([source], launches) == convert(cells(source), title="train.ipynb").text
    assert "_run_launchers_here" in script(["import helper\nhelper.f()"], launches)


def test_a_file_that_makes_the_group_itself_does_so_in_the_job() -> None:
    own = {"helper.py": "import torch\ndef go():\n    torch.distributed.init_process_group('gloo')\n"}
    text = script(["import helper\nhelper.go()"], own)
    assert in_group(text)
    assert "torch.distributed.init_process_group(" not in text


INIT = "import torch.distributed as dist\ndef main():\n    dist.init_process_group('gloo')\n"
TOTAL = "def total(x):\n    dist.all_reduce(x)\n"
TUTORIAL = f"{INIT}{TOTAL}if __name__ == '__main__':\n    main()\n"
"""The usual shape of a training file."""
CLASS = (
    f"{INIT}class Trainer:\n    def fit(self):\n        self.begin()\n    def begin(self):\n        main()\n"
)


def makes_groups(text: str) -> int:
    """How many calls of the preamble make the group."""
    return text.count("torch.distributed.init_process_group(")


@pytest.mark.parametrize("more", ["", "\nimport torch"])
@pytest.mark.parametrize(
    ("source", "file"),
    [
        ("from train import total\ntotal(1)", TUTORIAL),
        ("import train\ntrain.total(1)", TUTORIAL),
        ("from train import total\nmodel.main()", TUTORIAL),
        ("import train", f"{INIT}# dist.init_process_group()"),
        ("def main():\n    pass\nimport train\nmain()", TUTORIAL),
        ("import train", TUTORIAL.replace("__name__ == '__main__'", "'__main__' == __name__")),
        ("import train", f"{INIT}class Trainer:\n    def main(self):\n        main()\n"),
        ("def never():\n    import torch\n    torch.distributed.init_process_group()\nimport train", ""),
    ],
)
def test_an_init_that_never_runs_leaves_the_job_its_group(source: str, file: str, more: str) -> None:
    text = script([source + more], {"train.py": file or TORCH})
    assert in_group(text)
    assert makes_groups(text) == 1 + source.count("init_process_group")


@pytest.mark.parametrize("more", ["", "\nimport torch"])
@pytest.mark.parametrize(
    ("source", "file"),
    [
        ("import train\ntrain.main()", TUTORIAL),
        ("import train as t\nt.main()", TUTORIAL),
        ("from train import main as m\nm()", TUTORIAL),
        ("from train import *\nmain()", TUTORIAL),
        ("from train import main\nlaunch(main)", TUTORIAL),
        ("%run train.py", TUTORIAL),
        ("%run train.py\nmain()", INIT),
        ("import train", f"{INIT}main()"),
        ("from importlib import import_module\ntrain = import_module('train')\ntrain.main()", TUTORIAL),
        ("import importlib\nimportlib.import_module('train').main()", TUTORIAL),
        ("import importlib\nimportlib.import_module('train')", f"{INIT}main()"),
        ("import train", f"{INIT}go = main\ngo()"),
        ("import train\ntrain.Trainer().fit()", CLASS),
        ("import train\ntrain.go()", f"{INIT}def go():\n    def inner():\n        main()\n    inner()\n"),
        (
            "import train\ntrain.go()",
            "from torch.distributed import init_process_group as i\ndef go():\n    i()",
        ),
    ],
)
def test_an_init_that_cells_reach_is_the_only_one(source: str, file: str, more: str) -> None:
    text = script([source + more], {"train.py": file})
    assert in_group(text)
    assert makes_groups(text) == 0


def test_another_framework_has_no_group_of_torch() -> None:
    assert not in_group(script(["import helper"], {"helper.py": TORCH}, framework="tensorflow"))


def test_files_are_found_once_with_the_cell_that_leads_to_them() -> None:
    found = code(["x = 1", "\nimport a, b"], {"a.py": "import b", "b.py": "import a, tensorflow"})
    assert [(m.path, m.cell, m.line) for m in found.files] == [("a.py", "[2]", 2), ("b.py", "[2]", 2)]
    assert found.everywhere["tensorflow"] == ("[2]", 2)
    assert "tensorflow" not in found.imported
    many = {f"m{n}.py": f"import m{n + 1}" for n in range(1000)}
    assert len(code(["import m0"], many).files) == local_modules.MOST_FILES


def findings(sources: list[str], files: dict[str, str], **chosen: Any) -> list[tuple[str, str, str | None]]:
    made = cells(*sources)
    parsed = running(made)
    modules = local_modules.modules(parsed, files.get)
    assert local_modules.imported(imports(made), modules)
    around = CheckContext(ranks=2, framework=Chosen(ranks=2, **chosen), modules=modules)
    found = [f for f in check(made, around) if f.code in ("framework", "keras_strategy")]
    return [(f.severity, f.code, f.cell) for f in found]


def test_a_framework_of_a_file_is_proposed_at_the_cell_that_imports_it() -> None:
    assert findings(["x = 1", "import helper"], {"helper.py": "import tensorflow"}) == [
        ("problem", "framework", "[2]")
    ]


FIT = "import keras\ndef made():\n    return keras.Sequential()\n"
REFUSED = [("problem", "keras_strategy", "[1]")]


@pytest.mark.parametrize(
    ("source", "files"),
    [
        ("import helper\nhelper.go()", {"helper.py": FIT + "def go():\n    made().fit(1)\n"}),
        ("import helper\nhelper.made().fit(1)", {"helper.py": FIT}),
        ("import helper as h\nmodel = h.made()\nmodel.fit(1)", {"helper.py": FIT}),
        ("from helper import made as m\nm().fit(1)", {"helper.py": FIT}),
        ("from helper import *\nmade().fit(1)", {"helper.py": FIT}),
        ("from pack import b\nb.go()", {"pack/a.py": FIT, "pack/b.py": "from .a import made\nmade().fit(1)"}),
        ("from pack.a import net\nnet.fit(1)", {"pack/a.py": "import keras as k\nnet = k.Model()"}),
        ("import a\na.Net().fit(1)", {"a.py": "from tensorflow import keras\nclass Net(keras.Model): pass"}),
    ],
)
def test_keras_3_is_caught_where_a_file_fits(source: str, files: dict[str, str]) -> None:
    assert findings([WORKERS, source], files, asked="tensorflow") == REFUSED


def test_a_strategy_and_a_fit_that_are_both_in_a_file_name_it() -> None:
    helper = f"{WORKERS}\n{FIT}made().fit(1)\n"
    made = cells("import helper")
    modules = local_modules.modules(running(made), {"helper.py": helper}.get)
    around = CheckContext(ranks=2, framework=Chosen("tensorflow", 2), modules=modules)
    [told] = [f for f in check(made, around) if f.code == "keras_strategy"]
    assert (told.severity, told.cell) == ("problem", None)
    assert told.message.startswith("helper.py, line 2: Keras 3 can't fit")
    assert "no_strategy" not in [f.code for f in check(made, around)]


@pytest.mark.parametrize(
    ("source", "files"),
    [
        ("import helper\nhelper.go()", {"helper.py": FIT}),
        ("import helper\nhelper.go()", {"helper.py": f"import tf_keras\n{FIT}made().fit(1)"}),
        ("import other", {"helper.py": f"{FIT}made().fit(1)"}),
    ],
)
def test_files_that_fit_nothing_of_keras_3_are_left_alone(source: str, files: dict[str, str]) -> None:
    assert findings([WORKERS, source], files, asked="tensorflow") == []


def test_a_fit_in_a_file_that_may_be_anothers_is_a_warning() -> None:
    other = {"helper.py": "import keras\ndef go(forest):\n    forest.fit(1)\n", "svm.py": "net = made()"}
    source = "import helper, svm\nhelper.go(svm.net)"
    assert findings([WORKERS, source], other, asked="tensorflow") == [("warning", "keras_strategy", None)]


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "cell",
    [
        "%run ../outside.py",
        "%run {root}/outside.py",
        "%run link.py",
        "import sys\nsys.path.insert(0, '..')\nimport outside",
        "import sys\nsys.path.insert(0, 'folder')\nimport outside",
        "%run circle.py",
        "import pipe",
        "%run pipe.py",
        "%run /dev/zero",
        "import zero",
        "import large",
        "import latin",
    ],
)
def test_only_regular_files_of_the_notebooks_folder_are_read(tmp_path: Path, cell: str) -> None:
    (tmp_path / "outside.py").write_text(TORCH)
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "link.py").symlink_to("../outside.py")
    (folder / "folder").symlink_to("..")
    (folder / "circle.py").symlink_to("circle.py")
    (folder / "zero.py").symlink_to("/dev/zero")
    (folder / "large.py").write_text(f"{TORCH}{' ' * (1 << 20)}")
    (folder / "latin.py").write_bytes(b"# \xff")
    os.mkfifo(folder / "pipe.py")
    assert Code.local_files(cells(cell.format(root=tmp_path)), folder).files == ()


def test_files_below_the_folder_are_read_also_by_links(tmp_path: Path) -> None:
    real = tmp_path / "real"
    (real / "src").mkdir(parents=True)
    (real / "src" / "m.py").write_text(TORCH)
    (real / "link.py").symlink_to("src/m.py")
    (tmp_path / "project").symlink_to(real)
    source = "import sys, link\nsys.path.append('src')\nimport m"
    found = Code.local_files(cells(source, "%run src/../link.py"), tmp_path / "project")
    assert {module.path for module in found.files} == {"link.py", "src/m.py"}


def test_paths_that_leave_the_folder_are_not_even_asked_for() -> None:
    asked: list[str] = []
    source = "import sys\nsys.path.insert(0, '../lib')\nimport a\n%run ../b.py\n%run /c.py"
    local_modules.modules(running(cells(source)), lambda path: asked.append(path))  # type: ignore[func-returns-value]
    assert asked == ["sys/__init__.py", "sys.py", "a/__init__.py", "a.py"]
