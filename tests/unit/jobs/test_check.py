"""The static check: each finding with its severity, cell and line; and what it must leave alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dtrain_lab.jobs.check import CheckContext, check, imports, parameter_values, portability
from dtrain_lab.jobs.check.parsed_cells import parse
from dtrain_lab.jobs.notebook.rank_cells import ranks_missing
from dtrain_lab.jobs.notebook.source import Cell, read

NOTEBOOKS = sorted((Path(__file__).parents[3] / "notebooks").rglob("*.ipynb"))


def cells(*sources: str) -> tuple[Cell, ...]:
    return tuple(Cell(f"[{n}]", f"id{n}", source) for n, source in enumerate(sources, start=1))


def codes(*sources: str, **around: object) -> list[tuple[str, str | None, int | None]]:
    return [(f.code, f.cell, f.line) for f in check(cells(*sources), CheckContext(**around))]  # type: ignore[arg-type]


TRAINS = "import torch\nmodel = torch.nn.Linear(2, 2)\nopt = torch.optim.SGD(model.parameters(), lr=1)\n"
LOOP = "for x in loader:\n    model(x).sum().backward()\n    opt.step()"


SAVES = "import dtrain_lab as dt\nwith dt.checkpoint(1) as folder:\n    print(folder)"


@pytest.mark.parametrize(
    ("sources", "line"),
    [
        ([SAVES], 2),
        (["from dtrain_lab import checkpoint as keep\n\nkeep(3)"], 3),
        ([SAVES, "latest = dt.latest_checkpoint()"], None),
        ([SAVES, "from dtrain_lab import latest_checkpoint"], None),
        ([SAVES, "import torch\nm = torch.load(dt.checkpoint_dir() / 'last.pt')"], None),
        ([SAVES, "import os, torch\ntorch.load(os.environ['DTRAIN_CHECKPOINT_DIR'] + '/m')"], None),
        ([SAVES, "import torch\nm = torch.load('pretrained.pt')"], 2),
        (["from torch.utils.checkpoint import checkpoint\ncheckpoint(print, 1)"], None),
        (["print(1)"], None),
    ],
)
def test_a_checkpoint_that_is_never_loaded_is_told(sources: list[str], line: int | None) -> None:
    """Found by hand: "Resume from step 2,304" began at epoch 0, and nothing had said so."""
    found = [f for f in check(cells(*sources), CheckContext()) if f.code == "checkpoint_never_loaded"]
    assert [(f.severity, f.cell, f.line) for f in found] == ([("note", "[1]", line)] if line else [])
    for one in found:
        assert one.message == (
            "This notebook saves checkpoints but never loads one: a resumed or retried job would start from "
            "the beginning."
        )
        assert "dt.latest_checkpoint()" in one.fix


@pytest.mark.parametrize(
    ("sources", "found"),
    [
        (["print(x)"], ("undefined_name", "[1]", 1)),
        (["shell = get_ipython()"], ("undefined_name", "[1]", 1)),
        (["y = 1", "z = y\nprint(x)", "x = 2"], ("defined_later", "[2]", 2)),
        (["def f():\n    return helper()\n"], ("undefined_name", "[1]", 2)),
        (["n = n + 1"], ("defined_later", "[1]", 1)),
        # what a cell with a syntax error would define counts: the error itself is told apart
        (["print(x)", "x = 2\nprint('oh"], ("defined_later", "[1]", 1)),
        (["print(x)", "import torch as t, x\nprint('oh"], ("defined_later", "[1]", 1)),
        (["print(x)", "print(x\ny == x"], ("undefined_name", "[1]", 1)),
        (["input('?')"], ("input", "[1]", 1)),
        (["open('/home/me/data.csv')"], ("home_path", "[1]", 1)),
        (["import pandas as pd\npd.read_csv('data.csv')"], ("file_left_behind", "[1]", 2)),
        (["import pandas as pd\npd.read_csv('s3://b/d')"], ("object_store", "[1]", 2)),
        (["d = 's3://bucket/train'\nimport pandas as pd", "pd.read_csv(d)"], ("object_store", "[1]", 1)),
        (["where = {\n    'data': 'obs://bucket/d'}"], ("object_store", "[1]", 2)),
        (["name = 'b'\nd = f's3://{name}/d'"], ("object_store", "[1]", 2)),
        (["root = '/home/me/data'"], ("home_path", "[1]", 1)),
        (["def load(path='~/data'):\n    return path"], ("home_path", "[1]", 1)),
        (["p = r'C:\\data'"], ("home_path", "[1]", 1)),
        (
            ["import pandas as pd\nd = pd.read_csv('gs://b/d')\nagain = 'gs://b/d'"],
            ("object_store", "[1]", 2),
        ),
        (["import torch\ntorch.device('cuda:0')"], ("fixed_device", "[1]", 2)),
        (["m = 1\nm.cuda(0)"], ("fixed_device", "[1]", 2)),
        (["world_size = 4"], ("fixed_size", "[1]", 1)),
        (["f = print\nf(nprocs=4)"], ("fixed_size", "[1]", 2)),
        (["import torch\nn = torch.cuda.device_count()"], ("device_count", "[1]", 2)),
        (
            ["from torch.utils.data import DistributedSampler\ns = DistributedSampler([1])"],
            ("no_set_epoch", "[1]", 2),
        ),
    ],
)
def test_what_is_found(sources: list[str], found: tuple[str, str, int]) -> None:
    assert codes(*sources) == [found]


@pytest.mark.parametrize(
    "source",
    [
        "print(rank, local_rank, world_size, device, display)",
        "[y for y in range(3) if y]",
        "try:\n    x\nexcept NameError:\n    x = 1",
        "def f():\n    global g\n    g = 1\nf()\nprint(g)",
        "from torch import *\nprint(ones)",
        "if (m := 3):\n    print(m)",
        "with open('a.txt', 'w') as file:\n    file.write('x')\nprint(open('a.txt').read())",
        "class A:\n    n = 1\n    def f(self):\n        return A.n",
        "import os.path\nprint(os.sep)",
        "a = 1; b = a",
        "def f(n):\n    return f(n - 1) if n else later\nlater = 1",
        "lambda unused: None",
        "def outer():\n    inside = 1\n    return lambda: inside",
        "match 3:\n    case k:\n        print(k)",
        "def g(x, *, y=1, **more) -> None:\n    print(x, y, more)",
        "for i, (a, b) in []:\n    pass\nelse:\n    i = 0\nprint(i)",
        "del_me = 1\ndel del_me",
        "import torch\ntorch.load('model.pt')",
        "exec(open('lib/inner.py').read())\nprint(go())",
        "exec(open('lib/inner.py').read(), globals())\nprint(go())",
        "globals()['go'] = print\ngo()",
        "def f(d):\n    'Of s3://b.'\n    return d.startswith('s3://') or d == 's3://b'\nprint('~/a')",
    ],
)
def test_what_is_left_alone(source: str) -> None:
    assert codes(source, shared=True) == []


def test_a_path_of_a_home_folder_is_right_on_this_machine() -> None:
    assert codes("open('/home/me/data.csv')", shared=True) == []
    assert codes("print('~/a')") == []


def test_names_of_the_kernel_alone_are_hidden_state() -> None:
    assert codes("print(x)", kernel=frozenset({"x"})) == [("hidden_state", "[1]", 1)]
    assert codes("print(x)", parameters={"x": 1}) == []


@pytest.mark.parametrize("shard", ["num_replicas=2, rank=0", "2, 0"])
def test_a_shard_that_is_the_same_on_all_ranks_is_found(shard: str) -> None:
    source = f"from torch.utils.data import DistributedSampler\ns = DistributedSampler([1], {shard})\n"
    epochs = "s.set_epoch(0)"

    def found(*sources: str, ranks: int) -> list[str]:
        return [code for code, *_ in codes(*sources, ranks=ranks) if code != "fixed_size"]

    assert found(source, epochs, ranks=2) == ["fixed_shard"]
    assert found(source, epochs, ranks=1) == []
    assert found(source, ranks=2) == ["fixed_shard", "no_set_epoch"]
    assert found(source.replace(shard, "num_replicas=world_size, rank=rank"), epochs, ranks=2) == []
    assert found(source.replace(shard, "num_replicas=1, rank=0"), epochs, ranks=2) == [], "all of the data"


@pytest.mark.parametrize(
    ("source", "severity"),
    [
        ("import sys\nsys.path.insert(0, folder)\nimport einops", "warning"),
        ("import sys\nsys.path.append('/opt/lib')\nimport einops", "warning"),
        ("import sys\nsys.path.extend(f())\nimport einops", "warning"),
        ("%cd ~/project\nimport einops", "warning"),
        ("import os\nos.chdir(os.environ['HERE'])\nimport einops", "warning"),
        ("import sys\nsys.path.insert(0, '..')\nimport einops", "warning"),
        ("import sys\nsys.path.insert(0, 'lib')\nimport einops", "problem"),
        ("import sys\nprint(sys.path)\nsys.path.remove('x')\nimport einops", "problem"),
        ("import os\nos.path.join(f(), 'lib')\nimport einops", "problem"),
        ("if f:\n    import einops", "warning"),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from einops import a", "warning"),
        ("import sys\nif 'google.colab' in sys.modules:\n    import einops", "warning"),
        ("if 0:\n    import einops", "warning"),
        ("from contextlib import suppress\nwith suppress(ImportError):\n    import einops", "warning"),
        ("if f:\n    import einops\nimport einops", "problem"),
        ("if rank == 0:\n    import einops", "problem"),
        ("if __name__ == '__main__':\n    import einops", "problem"),
        ("%%distributed 0\nimport einops", "problem"),
    ],
)
def test_a_module_may_be_in_a_folder_that_can_not_be_read_or_not_be_needed(
    source: str, severity: str
) -> None:
    around = CheckContext(missing=frozenset({"einops"}), parameters={"f": 1, "folder": "x"})
    [found] = [f for f in check(cells(source), around) if f.code == "module_missing"]
    assert found.severity == severity
    assert "pip install einops" in found.fix


def test_modules_and_files_of_the_surroundings() -> None:
    assert codes("import numpy\nimport einops as e", missing=frozenset({"einops"})) == [
        ("module_missing", "[1]", 2)
    ]
    assert imports(
        cells("import a.b\nfrom c.d import e\ntry:\n    import f\nexcept ImportError:\n    pass")
    ) == {
        "a": ("[1]", 1),
        "c": ("[1]", 2),
    }
    assert imports(cells("%%writefile ./own.py\nx = 1", "import own, other")) == {"other": ("[2]", 1)}
    assert codes("open('data/a.csv')", files=frozenset({"data/a.csv"})) == []


def test_separate_models_come_with_a_change_that_mends_it() -> None:
    loader = "loader = torch.utils.data.DataLoader([1], batch_size=2, shuffle=True)\n"
    (finding,) = check(cells(TRAINS + loader, LOOP), CheckContext(ranks=32))
    assert (finding.code, finding.severity, finding.cell, finding.line) == (
        "separate_models",
        "warning",
        "[2]",
        2,
    )
    assert "32 ranks would train 32 separate models" in finding.message
    assert "+model = DistributedDataParallel(model.to(device))" in finding.diff
    assert "+loader = torch.utils.data.DataLoader([1], batch_size=2, sampler=" in finding.diff
    assert codes(TRAINS + loader, LOOP, ranks=1) == []
    ddp = "from torch.nn.parallel import DistributedDataParallel as DDP\nmodel = DDP(model)"
    assert codes(TRAINS + loader, ddp, LOOP, ranks=32) == []
    torchtune = (
        "from torchtune import training\ntraining.shard_model(model, shard_conditions=[], cpu_offload=False)"
    )
    assert codes(TRAINS + loader, torchtune, LOOP, ranks=32) == []


OWN_PROCESSES = """import torch.distributed as dist, torch.multiprocessing as mp
size = 4
def f(rank, size): pass
def init(rank, size, fn):
    dist.init_process_group("gloo", rank=rank, world_size=size)
    fn(rank, size)
"""


@pytest.mark.parametrize(
    ("source", "fits"),
    [
        ("from accelerate import notebook_launcher\nnotebook_launcher(f, (1,), num_processes=4)", False),
        ("from accelerate import notebook_launcher\nnotebook_launcher(f, (1,), 2)", True),
        ("import torch.multiprocessing as mp\nn = 3\nmp.spawn(f, args=(1,), nprocs=n)", False),
        ("import torch.multiprocessing as mp\nmp.spawn(f, args=(world_size,), nprocs=world_size)", True),
        ("import torch.multiprocessing as mp\nmp.spawn(f)", False),
        ("import ignite.distributed as idist\nwith idist.Parallel('gloo') as p: p.run(f)", True),
        ("import ignite.distributed as idist\nidist.spawn('gloo', f, nproc_per_node=5)", False),
        ("import ignite.distributed as idist\nidist.Parallel('gloo', nproc_per_node=3)", False),
        ("from accelerate import debug_launcher\ndebug_launcher(f, (1,), num_processes=3)", False),
        (f"{OWN_PROCESSES}for r in range(size):\n    p = mp.Process(target=init, args=(r, size, f))", False),
        (f"{OWN_PROCESSES}ps = [mp.Process(target=init, args=(r, 2, f)) for r in range(2)]", True),
        (f"{OWN_PROCESSES}ps = [mp.Process(target=f, args=(r,)) for r in range(size)]", True),
        (
            f"{OWN_PROCESSES}for trial in range(3):\n    for r in range(world_size):\n"
            "        p = mp.Process(target=init, args=(r, world_size, f))",
            True,
        ),
        (
            f"{OWN_PROCESSES}for attempt in range(5):\n"
            "    p = mp.Process(target=init, args=(0, 1, f)); p.start(); p.join()",
            True,
        ),
        ("engine.spawn(f)", True),
    ],
)
def test_launchers_of_another_size_are_problems(source: str, fits: bool) -> None:
    found = [f.severity for f in check(cells(source), CheckContext(ranks=2)) if f.code == "launcher_size"]
    assert found == ([] if fits else ["problem"])


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_our_own_notebooks_have_no_problem(path: Path) -> None:
    found = check(read(path.read_text(), path.name), CheckContext(ranks=2, shared=True))
    assert [f for f in found if f.severity == "problem"] == []


WRAPS = "import torch\nfrom torch import nn\nnet = nn.Linear(2, 2)\n"
STEPS = "opt = torch.optim.SGD(net.parameters(), lr=1)\n"
DDP = "from torch.nn.parallel import DistributedDataParallel\n"


@pytest.mark.parametrize(
    ("wraps", "after"),
    [
        ("net = nn.DataParallel(net)\n", f"{DDP}net = DistributedDataParallel(net.to(device))\n"),
        ("net = nn.DataParallel(net.cuda())\n", f"{DDP}net = DistributedDataParallel(net.cuda())\n"),
        (
            "net = torch.nn.DataParallel(\n    net, device_ids=[0, 1]\n).to(device)\n",
            f"{DDP}net = DistributedDataParallel(net.to(device)).to(device)\n",
        ),
        (
            "if torch.cuda.device_count() > 1:\n    print('é')\n    net = nn.DataParallel(net)\n",
            f"{DDP}print('é')\nnet = DistributedDataParallel(net.to(device))\n",
        ),
        (
            "if torch.cuda.device_count() > 1: net = nn.DataParallel(net)\n",
            f"{DDP}net = DistributedDataParallel(net.to(device))\n",
        ),
    ],
)
def test_ddp_takes_the_place_of_data_parallel(wraps: str, after: str) -> None:
    found = check(
        cells(WRAPS + wraps + STEPS, "loader = [1]", LOOP.replace("model", "net")), CheckContext(ranks=2)
    )
    [told] = [f for f in found if f.code == "separate_models"]
    assert told.fix.startswith("Replace nn.DataParallel by DistributedDataParallel")
    lines = [line for line in told.diff.split("\n")[2:] if line[:1] in " +"]
    made = "".join(
        f"{line[1:]}\n" for line in lines if line[1:] not in (*WRAPS.split("\n"), *STEPS.split("\n"))
    )
    assert made == after
    compile(WRAPS + made + STEPS, "cell", "exec")


@pytest.mark.parametrize(
    ("given", "said", "fix"),
    [
        ({"lr": "abc"}, 'lr is set to the string "abc"; the notebook has 0.1.', "Give a number, such as"),
        ({"lr": "0.5"}, 'lr is set to the string "0.5"; the notebook has 0.1.', "Give 0.5 without quotes"),
        ({"width": "wide"}, 'width is set to the string "wide"; the notebook has 32.', "Give a number"),
        ({"sure": "yes"}, 'sure is set to the string "yes"; the notebook has True.', "Give True or False"),
        ({"dims": "[1"}, 'dims is set to the string "[1"; the notebook has [1].', "Give a list."),
        ({"adam": "{b"}, 'adam is set to the string "{b"; the notebook has {1: 2}.', "Give a dictionary."),
    ],
)
def test_a_string_for_a_number_is_a_problem_of_its_parameter(
    given: dict[str, object], said: str, fix: str
) -> None:
    source = "lr: float = 0.1\nwidth = 2**5\nsure = True\ndims = [1]\nadam = {1: 2}\nopt = 'sgd'"
    source += "\nlong = 9999**9999"
    tagged = Cell("[1]", "a", source, ("parameters",))
    (found,) = check([tagged], CheckContext(parameters=given))
    assert (found.severity, found.code, found.field) == ("problem", "bad_value", "parameters")
    assert found.parameter == next(iter(given))
    assert found.message == said
    assert found.fix.startswith(fix)
    fine = {"long": "x", "lr": 1, "width": 64, "opt": "adam", "sure": 0}
    assert check([tagged], CheckContext(parameters=fine)) == ()
    (warned,) = check([tagged], CheckContext(parameters={"sure": "imagenet"}))
    assert (warned.severity, warned.code) == ("warning", "string_value")


@pytest.mark.parametrize(
    ("given", "said", "fix"),
    [
        ({"lr": None}, "lr is set to None; the notebook has 0.1.", "Correct it if a number was meant."),
        ({"lr": True}, "lr is set to True; the notebook has 0.1.", "Correct it if a number was meant."),
        ({"dims": 3}, "dims is set to 3; the notebook has [1].", "Correct it if a list was meant."),
        ({"lr": [0.1]}, "lr is set to [0.1]; the notebook has 0.1.", "Correct it if a number was meant."),
        ({"sure": 2}, "sure is set to 2; the notebook has True.", "Correct it if True or False was meant."),
        (
            {"data": 3},
            'data is set to 3; the notebook has "digits".',
            'Write "3", in quotes, if a string was meant.',
        ),
        (
            {"data": None},
            'data is set to None; the notebook has "digits".',
            "Correct it if a string was meant.",
        ),
    ],
)
def test_a_value_of_another_type_is_a_warning(given: dict[str, object], said: str, fix: str) -> None:
    """Found by hand: `lr = None` and `name = 3` had no remark."""
    source = "lr = 0.1\nsure = True\ndims = [1]\ndata = 'digits'\nmost = None\nflag = 1"
    tagged = Cell("[1]", "a", source, ("parameters",))
    (found,) = check([tagged], CheckContext(parameters=given))
    assert (found.severity, found.code, found.field) == ("warning", "other_type", "parameters")
    assert (found.message, found.fix) == (said, fix)
    fine = {"sure": 0, "dims": [2, 3], "data": "cifar", "most": 3, "flag": True}
    assert check([tagged], CheckContext(parameters=fine)) == ()


def test_a_whole_float_is_an_integer_where_the_notebook_has_one() -> None:
    """Found by hand: `--param epochs=1e3` became 1000.0, which `range` refuses."""
    source = "epochs = 3\nlr = 0.1\nsure = True\nname = 'a'\n\ufb01 = 3"
    given = {"epochs": 1e3, "lr": 2.0, "sure": 1.0, "name": 3.0, "other": 1.0, "\ufb01": 2.0}
    made = parameter_values.whole([Cell("[1]", "a", source, ("parameters",))], given)
    assert made == given
    assert {name for name, value in made.items() if isinstance(value, int)} == {"epochs", "\ufb01"}
    for kept in (2.5, 1e300, float("inf"), None, "1e3", True):
        assert parameter_values.whole([PARAMETERS_CELL], {"epochs": kept})["epochs"] is kept


PARAMETERS_CELL = Cell("[1]", "a", "lr = 0.1\nepochs = 3\ndropout = 0", ("parameters",))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"lr": 3.5, "epochs": 4, "dropout": 0.5}, None),
        ({"epochs": 4.0}, None),
        ({"extra": 1}, None),
        (
            {"lrr": 3},
            "The notebook has no parameter lrr, and none of its cells reads that name. Did you mean lr?",
        ),
        (
            {"zz": 3},
            "The notebook has no parameter zz, and none of its cells reads that name. "
            "It has dropout, epochs, lr.",
        ),
        (
            {"epochs": 3.5},
            "epochs is set to 3.5; the notebook has the whole number 3. "
            "Correct it if a whole number was meant, as for epochs or layers.",
        ),
    ],
)
def test_a_parameter_that_the_notebook_lacks_and_a_fraction_of_a_whole_number_are_told(
    given: dict[str, Any], said: str | None
) -> None:
    """Found by hand: `--param lrr=3`, mistyped, was taken in silence."""
    found = check([PARAMETERS_CELL, Cell("[2]", "b", "print(lr, extra)")], CheckContext(parameters=given))
    found = tuple(f for f in found if f.field == "parameters")
    assert [f"{f.message} {f.fix}" for f in found] == ([said] if said else [])
    assert {f.severity for f in found} <= {"warning"}


@pytest.mark.parametrize(
    ("sources", "missing"),
    [
        (("data = open('data/x.csv')",), True),
        (("data = open('/data/x.csv').read()",), True),
        (("load('vision')", "open('s3://a/x.csv')", "open('~/x.csv')"), False),
        (("!wget -O data/x.csv https://a", "open('data/x.csv')"), False),
        (("fetch('https://a/x.csv')", "open('data/x.csv')"), False),
        (("if exists('x.csv'):\n    open('x.csv')",), False),
        (("open('x.csv', 'w')", "open('x.csv')"), False),
    ],
)
def test_a_file_that_does_not_exist_is_told_where_nothing_may_make_it(
    sources: tuple[str, ...], missing: bool
) -> None:
    read_only = frozenset(portability.read_only([one for one in map(parse, cells(*sources)) if one]))
    assert bool(read_only) is missing
    found = check(cells(*sources), CheckContext(shared=True, absent=read_only))
    told = [f.message for f in found if f.code == "file_missing"]
    assert told == [f"{path} does not exist." for path in read_only]


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("!python train.py --lr {wd:.3f}", None),
        ("out = !echo $wd", None),
        ("!echo {lr} wd", "The notebook has no parameter wd, and none of its cells reads that name."),
        ("wd = 0.1\nprint(wd)", "Cell [2] assigns wd, which overwrites the given value."),
        ("wd = float(wd)\nprint(wd)", None),
        ("if not sure:\n    wd = 0.1\nprint(wd)", None),
        ("for wd in range(3):\n    print(wd)", "Cell [2] assigns wd, which overwrites the given value."),
        ("for i, wd in x:\n    print(wd)", "Cell [2] assigns wd, which overwrites the given value."),
        (
            "def f(a):\n    for wd in a:\n        print(wd)",
            "The notebook has no parameter wd, and none of its cells reads that name.",
        ),
        ("def f(a):\n    print(wd)", None),
    ],
)
def test_a_parameter_that_a_cell_reads_is_the_notebooks(source: str, said: str | None) -> None:
    """In a shell line, too, unless a cell assigns it after the values were set."""
    cells = [Cell("[0]", "0", "wd = 1"), PARAMETERS_CELL, Cell("[2]", "b", source)]
    found = [f for f in check(cells, CheckContext(parameters={"wd": 3})) if f.field == "parameters"]
    assert [f.message for f in found] == ([said] if said else [])


def test_a_loop_variable_is_no_parameter_but_a_mistyped_one() -> None:
    cells = [
        Cell("[1]", "a", "epochs = 3", ("parameters",)),
        Cell("[2]", "b", "for epoch in range(epochs): 0"),
    ]
    (found,) = [
        f for f in check(cells, CheckContext(parameters={"epoch": 1})) if f.code == "no_such_parameter"
    ]
    assert found.fix == "Did you mean epochs?"


def test_a_cell_for_ranks_that_the_job_lacks_is_a_problem_in_the_notebooks_words() -> None:
    cells = [Cell("[1]", "a", "1"), Cell("[2]", "b", "\n%%distributed 0,5\n1")]
    (found,) = [f for f in check(cells, CheckContext(ranks=2)) if f.code == "rank_set"]
    assert (found.severity, found.cell, found.line) == ("problem", "[2]", 2)
    assert found.message == "There is no rank 5: there are 2 ranks, ranks 0–1."
    assert not [f for f in check(cells, CheckContext(ranks=6)) if f.code == "rank_set"]


def test_only_the_conversion_reports_what_is_no_rank_set() -> None:
    assert ranks_missing(Cell("[1]", "a", "%%distributed There is no rank\n1"), 2) is None
    assert ranks_missing(Cell("[1]", "a", "%%distributed 0,0\n1"), 2) is None


def test_a_parameter_of_a_notebook_without_a_tagged_cell_is_told() -> None:
    (found,) = check([Cell("[1]", "a", "print(1)")], CheckContext(parameters={"zz": 3}))
    assert (found.severity, found.code, found.parameter) == ("warning", "no_such_parameter", "zz")
    assert 'Add the tag "parameters" to the cell that assigns them' in found.fix
