"""Search spaces: from Python, JSON and text; each bad one has its sentence."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

import dtrain_lab as dt
from dtrain_lab.errors import BadNotebook, BadRequest
from dtrain_lab.jobs.notebook.source import Cell
from dtrain_lab.sweeps import space
from dtrain_lab.sweeps.notebook_parameters import check_names, check_values


def test_python_json_and_text_make_the_same_space() -> None:
    made = space.parse(
        {
            "lr": dt.loguniform(1e-5, 1e-1),
            "layers": [2, 4, 8],
            "w": dt.randint(32, 512),
            "d": dt.uniform(0, 1),
        }
    )
    again = space.parse(space.written(made))
    assert again == made
    assert space.written(made)["lr"] == "loguniform(1e-05, 0.1)"
    texts = ("lr=loguniform(1e-5, 1e-1)", "layers=2,4,8", "w=randint(32, 512)", "d=uniform(0,1)")
    told = [space.from_text(text) for text in texts]
    assert all(varies for _, _, varies in told)
    assert space.parse({name: value for name, value, _ in told}) == made


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("steps=100", ("steps", 100, False)),
        ("path=a b", ("path", "a b", False)),
        ("opt=adam, sgd", ("opt", ["adam", "sgd"], True)),
        ("layers=[2]", ("layers", [2], True)),
        ('text="a,b"', ("text", "a,b", False)),
        ("flag=true,false", ("flag", [True, False], True)),
        ("flag=True,False", ("flag", [True, False], True)),
        ("depth=None, 2", ("depth", [None, 2], True)),
        ("flag=[True, None]", ("flag", [True, None], True)),
        ("opt=['a', 'b, c']", ("opt", ["a", "b, c"], True)),
        ("flag=True", ("flag", True, False)),
        ("opt='a, b', c", ("opt", ["a, b", "c"], True)),
        ('opt="a, b","c"', ("opt", ["a, b", "c"], True)),
        ("dims=[1, 2],[3]", ("dims", [[1, 2], [3]], True)),
        ("words=it's,don't", ("words", ["it's", "don't"], True)),
        ("depth=2,", ("depth", [2], True)),
        ("run=2024_01", ("run", "2024_01", False)),
    ],
)
def test_values_of_the_terminal(text: str, known: tuple[str, Any, bool]) -> None:
    assert space.from_text(text) == known


def test_points_are_counted_and_walked() -> None:
    made = space.parse({"a": [1, 2, 3], "b": "randint(0, 3)"})
    assert space.points(made) == 12
    assert space.first_of(made) == {"a": 1, "b": 0}
    assert space.points(space.parse({"a": [1], "b": "uniform(0, 1)"})) is None


@pytest.mark.parametrize(
    ("given", "code", "said"),
    [
        ({}, "empty_space", "The search space is empty: nothing would vary."),
        ({"a": []}, "empty_space", "The list of a is empty."),
        ({"a": [1, "x"]}, "mixed_types", "The values of a are of mixed types: x is not a number."),
        ({"a": [1, True]}, "mixed_types", "of mixed types: booleans and numbers."),
        ({"a": [1, [2]]}, "bad_value", "a has [2], which is a list."),
        ({"a": [1.0, math.nan]}, "bad_value", "a contains nan, which is not finite."),
        ({"a": ["nan", 1]}, "bad_value", "a contains nan, which is not finite."),
        ({"a": [0.1, "-Inf"]}, "bad_value", "a contains -Inf, which is not finite."),
        ({"a": [1, 2, 1]}, "bad_value", "a lists 1 twice."),
        (["a"], "bad_request", "The search space is a list; it must be a dict"),
        ({1: [0.1]}, "bad_value", "The search space has the name 1, which is a number."),
        ({"a": np.ones((2, 2))}, "bad_value", "a has [1.0, 1.0], which is a list."),
        ({"a": np.float64(3)}, "no_range", "a has one value, 3.0: it would not vary."),
        ({"a": 3}, "no_range", "a has one value, 3: it would not vary."),
        ({"a": "loguniform"}, "no_range", 'a: "loguniform" is not a range.'),
        ({"a": "loguniforn(1, 2)"}, "no_range", 'there is no range "loguniforn". Did you mean loguniform?'),
        ({"a": "uniform(1)"}, "no_range", 'a: "uniform(1)" must have two numbers.'),
        ({"a": "uniform(__import__('os'), 2)"}, "no_range", "must have two numbers."),
        ({"a": "uniform(2, 1)"}, "empty_space", "uniform(2, 1) is empty: 2 is not below 1."),
        ({"a": "uniform(nan, 1)"}, "no_range", "a: uniform got nan."),
        ({"a": "loguniform(0, 1)"}, "bad_request", "starts at 0, which has no logarithm."),
        ({"a": "randint(0.5, 3)"}, "bad_request", "needs whole numbers."),
    ],
)
def test_a_bad_space_is_refused_in_a_sentence(given: Any, code: str, said: str) -> None:
    with pytest.raises(BadRequest) as error:
        space.parse(given)
    assert said in str(error.value)
    assert error.value.code == code
    assert error.value.hint


@pytest.mark.parametrize(
    ("given", "values"),
    [
        (np.linspace(0, 1, 3), (0.0, 0.5, 1.0)),
        (np.arange(3), (0, 1, 2)),
        (range(3), (0, 1, 2)),
        ({3, 1, 2}, (1, 2, 3)),
        (frozenset(("b", "a")), ("a", "b")),
        (torch.tensor([1, 2]), (1, 2)),
        ([np.float32(0.5), np.int64(1), torch.tensor(2)], (0.5, 1, 2)),
    ],
)
def test_arrays_tensors_sets_and_their_scalars_are_lists_of_plain_values(
    given: Any, values: tuple[Any, ...]
) -> None:
    made = space.parse({"a": given})
    assert made == {"a": space.Choices(values)}
    assert [type(value) for value in space.written(made)["a"]] == [type(value) for value in values]
    assert dt.randint(np.int64(1), torch.tensor(3)) == dt.randint(1, 3)


WRONG_NUMBERS = ("0,1", "1e-3x", "1O", "1 000", "1e–3", "1/8", "0.1", "-inf")
TAGGED = "lr: float = 0.1\nsure = True\nopt = 'sgd'\nn = 1\nn = None\nwidth: int = 2**3 * 4"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("lr=a,1e-3x", 'lr is set to the string "a"; the notebook has 0.1. Give a number, such as 0.1.'),
        ('lr=["0.1;0.2"]', 'lr is set to the string "0.1;0.2"'),
        (
            'lr=["uniform(0", "1)"]',
            'lr is set to the string "uniform(0"; the notebook has 0.1. Choose the range',
        ),
        ("sure=yes,no", 'sure is set to the string "yes"; the notebook has True. Give True or False.'),
    ],
)
def test_mistyped_numbers_are_refused(text: str, said: str) -> None:
    name, value, _ = space.from_text(text)
    with pytest.raises(BadRequest) as error:
        check_values([cell(TAGGED, "parameters")], space.parse({name: value}))
    assert said in str(error.value)
    assert error.value.details == {"field": "space", "parameter": name}


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        *(
            ("lr", text, "Give a number, such as 0.1.")
            for text in ("0,1", "1e-3x", "1O", "1 000", "1e–3", "1/8", "-inf", "NaN", "true", "abc", "")
        ),
        ("lr", "0.5", "Give 0.5 without quotes."),
        ("lr", "uniform(0, 1)", "Let it vary over that range."),
        ("width", "64 ,", "the notebook has 32"),
        ("sure", "False", "Give True or False."),
        ("sure", "1e-3x", "Give True or False."),
    ],
)
def test_a_fixed_mistyped_number_is_refused(name: str, value: str, said: str) -> None:
    with pytest.raises(BadRequest) as error:
        check_values([cell(TAGGED, "parameters")], {}, {name: value})
    assert said in str(error.value)
    assert error.value.details["parameter"] == name


def test_strings_that_may_be_meant_are_warnings() -> None:
    cells = [cell(TAGGED, "parameters")]
    for text in ("imagenet", "ten", "resnet50", "4bit", "1cycle", "tree", "2024-01-01"):
        (found,) = check_values(cells, {}, {"sure": text})
        assert (found.severity, found.code, found.parameter) == ("warning", "string_value", "sure")
    assert found.message == 'sure is set to the string "2024-01-01"; the notebook has True.'
    assert found.fix == "The notebook will receive the string. Correct it if True or False was meant."
    assert [f.parameter for f in check_values(cells, space.parse({"sure": ["tree", "forest"]}))] == ["sure"]
    (other,) = check_values(cells, space.parse({"lr": [None, 1]}))
    assert other.message == "lr is set to None; the notebook has 0.1."
    plain = {"opt": ["a", "b"], "n": ["1x", "b"], "lr": [0.5, 1], "sure": [0, 1]}
    assert check_values(cells, space.parse(plain)) == []
    assert check_values(cells, {}, {"lr": 1, "opt": "1e-3x", "n": "text"}) == []


@pytest.mark.parametrize(
    ("parameter", "warned"),
    [
        (
            "width=uniform(16, 64)",
            "width takes fractional values from uniform(16.0, 64.0); the notebook has the whole number 32.",
        ),
        ("width=loguniform(0.5, 64)", "width takes fractional values from loguniform(0.5, 64.0)"),
        ("width=randint(16, 64)", ""),
        ("width=16,64", ""),
        ("drop=uniform(0, 1)", ""),
        ("drop=uniform(0, 0.5)", ""),
        ("lr=uniform(0, 8)", ""),
    ],
)
def test_fractions_for_a_whole_number_are_a_warning(parameter: str, warned: str) -> None:
    name, value, _ = space.from_text(parameter)
    found = check_values([cell(TAGGED + "\ndrop = 0", "parameters")], space.parse({name: value}))
    assert [f.severity for f in found] == (["warning"] if warned else [])
    if found:
        assert found[0].message.startswith(warned)
        assert (found[0].code, found[0].parameter) == ("fractions", "width")
        assert "use randint(1" in found[0].fix


@pytest.mark.parametrize("given", [({"dims": ["(1, 2)"]}, {}), ({}, {"dims": "[1"})])
def test_a_string_for_a_list_is_refused(given: tuple[dict[str, Any], dict[str, Any]]) -> None:
    varied, fixed = given
    with pytest.raises(BadRequest, match=r"the notebook has \[1\].") as error:
        check_values([cell("dims = [1]", "parameters")], space.parse(varied) if varied else {}, fixed)
    assert error.value.hint.startswith("Lists can't vary: ")
    assert [f.code for f in check_values([cell("dims = [1]", "parameters")], {}, {"dims": "all"})] == [
        "string_value"
    ]


def cell(source: str, *tags: str) -> Cell:
    return Cell("[1]", "a", source, tags)


def test_a_fixed_parameter_that_the_notebook_lacks_is_a_warning_as_in_a_job() -> None:
    (found,) = check_values([cell("lr = 1", "parameters")], {}, {"lrr": 2})
    assert (found.severity, found.code, found.field) == ("warning", "no_such_parameter", "parameters")


def test_a_parameter_that_only_other_cells_read_can_vary() -> None:
    check_names([cell("lr = 1", "parameters"), cell("!echo {wd}")], ["wd"], "a.ipynb")
    with pytest.raises(BadNotebook, match=r"Cell \[1\] assigns wd, which overwrites the given value"):
        check_names([cell("lr = 1", "parameters"), cell("wd = 1\nprint(wd)")], ["wd"], "a.ipynb")


def test_the_notebook_has_to_have_the_parameters() -> None:
    check_names([cell("lr = 1\nsteps: int = 5", "parameters")], ["lr", "steps"], "a.ipynb")
    with pytest.raises(BadNotebook, match=r"a.ipynb has no cell tagged .parameters., so a sweep has nothing"):
        check_names([cell("lr = 1")], ["lr"], "a.ipynb")
    with pytest.raises(BadNotebook, match=r"of a.ipynb is not valid Python, line 2: invalid"):
        check_names([cell("lr = 1\nwidth = = 2", "parameters")], ["lr"], "a.ipynb")
    with pytest.raises(BadNotebook) as error:
        check_names([cell("lr = 1\nwidth = 2", "parameters")], ["widht"], "a.ipynb")
    assert str(error.value) == (
        "The notebook has no parameter widht, and none of its cells reads that name. Did you mean width?"
    )
    assert error.value.details == {"field": "space", "parameter": "widht"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("lr", '--param lr has no "="'),
        ("=1,2", 'there is no name before "="'),
        ("l r=1,2", '"l r" is not a Python name'),
    ],
)
def test_a_parameter_of_the_terminal_needs_a_name(text: str, said: str) -> None:
    with pytest.raises(BadRequest, match=said):
        space.from_text(text)
