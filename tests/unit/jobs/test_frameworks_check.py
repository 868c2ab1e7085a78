"""What the check of a notebook finds about its framework, strategy and Keras."""

from __future__ import annotations

from typing import Any

import pytest

from dtrain_lab.jobs.check.frameworks import Chosen
from dtrain_lab.jobs.check.notebook import CheckContext, check
from dtrain_lab.jobs.notebook.source import Cell
from dtrain_lab.placement.frameworks import names
from dtrain_lab.wire.jobs.finding import Finding

MADE = "import tensorflow as tf\nstrategy = tf.distribute.{}()"
FIT = "import keras\nmodel = keras.Sequential()\nmodel.fit(data)"
DATA = "data = 1"


def found(*sources: str, ranks: int = 2, **chosen: Any) -> list[Finding]:
    cells = [Cell(f"[{n}]", str(n), source) for n, source in enumerate(sources, start=1)]
    around = CheckContext(ranks=ranks, framework=Chosen(ranks=ranks, **chosen))
    return [f for f in check(cells, around) if f.code != "framework_unseen"]


def codes(*sources: str, **chosen: Any) -> list[tuple[str, str]]:
    return [(f.severity, f.code) for f in found(*sources, **chosen)]


def test_the_framework_is_proposed_from_the_imports() -> None:
    (told,) = found("import numpy", "import tensorflow as tf\nprint(tf)")
    assert (told.severity, told.cell, told.line) == ("problem", "[2]", 1)
    assert told.message.startswith("This notebook imports tensorflow; its ranks would be started for PyTorch")
    assert (told.field, told.value) == ("framework", "tensorflow")
    assert codes("import mindspore", ranks=1) == [("note", "framework")], "one rank can't train apart"
    assert codes("import torch", asked="mindspore") == [("warning", "framework")]
    both = "import tensorflow\nimport torch"
    assert codes(both, ranks=1, asked="tensorflow") == [], "its own, and torch for something"
    assert codes(both, ranks=1, asked="mindspore") == [("warning", "framework")]
    assert codes("import torch, tensorflow") == [], "torch comes first: its notebooks import others, too"
    assert codes("try:\n    import tensorflow\nexcept ImportError:\n    pass") == []
    assert names.imported(("tf_keras", "numpy")) == ("tensorflow", "tf_keras")


@pytest.mark.parametrize("name", ["MultiWorkerMirroredStrategy", "experimental.MultiWorkerMirroredStrategy"])
def test_keras_3_is_caught_where_it_can_not_fit(name: str) -> None:
    made = MADE.format(name)
    (told,) = found(DATA, made, FIT, asked="tensorflow")
    assert (told.severity, told.code, told.cell, told.line) == ("problem", "keras_strategy", "[2]", 2)
    assert "tf_keras" in told.fix
    assert "TF_USE_LEGACY_KERAS=1" in told.fix
    by_attribute = "model = tf.keras.Sequential()\nmodel.fit(data)"
    assert codes(DATA, made, by_attribute, asked="tensorflow") == [("problem", "keras_strategy")]
    for mended in (
        found(DATA, made, FIT, asked="tensorflow", variables={"TF_USE_LEGACY_KERAS": "1"}),
        found("import os\nos.environ['TF_USE_LEGACY_KERAS'] = '1'", DATA, made, FIT, asked="tensorflow"),
        found(DATA, made, FIT.replace("import keras", "import tf_keras as keras"), asked="tensorflow"),
        found(made, "import keras\nmodel = keras.Sequential()", asked="tensorflow"),  # a custom loop
    ):
        assert not mended
    mirrored = MADE.format("MirroredStrategy")
    assert codes(DATA, mirrored, FIT, ranks=1, asked="tensorflow") == []


WORKERS = MADE.format("MultiWorkerMirroredStrategy")
LAYERS = "dense = tf.keras.layers.Dense(1)\nstrategy.run(print)"


@pytest.mark.parametrize(
    "fits",
    [
        "from tensorflow.keras import Sequential\nnet = Sequential()\nnet.fit(data)",
        "from tensorflow.keras.models import Model as M\nclass Own(M): pass\nnet = Own()\nnet.fit(data)",
        "from tensorflow import keras as k\nk.Sequential().fit(data)",
        "import tensorflow.keras as k\nclass Run:\n    def go(self):\n        self.net = k.Model()\n"
        "        self.net.fit(data)",
        "def made():\n    net = tf.keras.Sequential()\n    return net\nnet = made()\nnet.fit(data)",
        "def train(net: tf.keras.Model):\n    net.fit(data)",
        "net: object = tf.keras.Sequential()\nagain = net\nhistory = again.fit(data)",
        "if (net := tf.keras.models.load_model('m')):\n    net.fit(data)",
    ],
)
def test_a_model_of_keras_is_followed_to_its_fit(fits: str) -> None:
    assert codes(DATA, WORKERS, fits, asked="tensorflow") == [("problem", "keras_strategy")]


@pytest.mark.parametrize(
    "fits",
    [
        "from sklearn.preprocessing import StandardScaler\nStandardScaler().fit(data)",
        "from tokens import made\ntokenizer = made()\ntokenizer.fit(data)",
    ],
)
def test_another_fit_beside_a_loop_of_ones_own_is_not_refused(fits: str) -> None:
    (told,) = found(DATA, WORKERS, LAYERS, fits, asked="tensorflow")
    assert (told.severity, told.code, told.cell) == ("warning", "keras_strategy", "[4]")
    assert told.line == len(fits.splitlines())
    assert told.message.startswith("If this fits a Keras 3 model")
    assert codes(DATA, WORKERS, fits, asked="tensorflow") == [], "without Keras there is nothing to say"


@pytest.mark.parametrize(("method", "what"), [("evaluate", "evaluate"), ("train_on_batch", "train")])
def test_what_fails_like_fit_is_refused_like_it(method: str, what: str) -> None:
    (told,) = found(DATA, WORKERS, FIT.replace("fit", method), asked="tensorflow")
    assert (told.severity, told.code) == ("problem", "keras_strategy")
    assert told.message == f"Keras 3 can't {what} a model under MultiWorkerMirroredStrategy."
    (told,) = found(DATA, WORKERS, LAYERS, f"from own import net\nnet.{method}(data)", asked="tensorflow")
    assert told.message.startswith(f"If this {what}s a Keras 3 model")
    assert codes(DATA, WORKERS, FIT.replace("fit", "predict"), asked="tensorflow") == []


def test_strategies_that_would_train_apart_are_named() -> None:
    assert codes("import tensorflow", asked="tensorflow") == [("warning", "no_strategy")]
    for name in ("MirroredStrategy", "experimental.CentralStorageStrategy"):
        assert codes(MADE.format(name), asked="tensorflow") == [("problem", "one_process")]
        assert codes(MADE.format(name), ranks=1, asked="tensorflow") == []
    assert codes(MADE.format("experimental.ParameterServerStrategy"), asked="tensorflow") == []


def test_torch_s_own_names_and_advice_are_for_torch() -> None:
    assert codes("print(device)", asked="mindspore") == [("problem", "undefined_name")]
    assert codes("import mindspore\nloss = 1\nloss.backward()", asked="mindspore") == []


def test_mindspore_on_ascend_takes_eight_devices_of_each_node() -> None:
    npus = {"asked": "mindspore", "accelerator": "npu"}
    assert codes("import mindspore", ranks=8, nodes=2, **npus) == [
        ("problem", "eight_devices"),
        ("note", "npu_not_run"),
    ]
    assert codes("import mindspore", ranks=16, nodes=2, **npus) == [("note", "npu_not_run")]
    assert codes("import mindspore", ranks=4, **npus) == [("note", "npu_not_run")]
