"""`dt.predict(model, dataset)`: the model's results for all samples, computed on all ranks."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from dtrain_lab.errors import BadRequest
from dtrain_lab.training.inference import model as models
from dtrain_lab.training.inference.arguments import InferenceArguments, agreed
from dtrain_lab.training.inference.batch_shares import Plan, plan
from dtrain_lab.training.inference.code_digest import digest
from dtrain_lab.training.inference.inputs import ModelCall, Splitter
from dtrain_lab.training.inference.loop import Loop
from dtrain_lab.training.inference.rank_exchange import Ranks, ranks
from dtrain_lab.training.inference.results import arrow_files
from dtrain_lab.training.inference.results.gather import gathered
from dtrain_lab.training.inference.results.output_parts import Output, parts
from dtrain_lab.training.inference.results.part_files import Parts, State, Writer, folder_of


def predict(
    model: Callable[..., Any],
    dataset: Any,
    *,
    batch_size: int | None = None,
    collate_fn: Callable[[list[Any]], Any] | None = None,
    num_workers: int = 0,
    output: str | os.PathLike[str] | None = None,
) -> Any:
    """Call a model on every sample of a dataset, shared among all ranks; a collective.

    Each sample is taken once, in batches that one process would form, so the results are those of one
    process. The model is in eval mode and without gradients meanwhile; its inputs are moved to its device. Of
    a sample that is a tuple, the last element is taken for the target and left out, unless the model needs
    it; a dict goes to the model's parameters of those names.

    With `output`, results are written to disk as they arrive. After a crash, a second call with the same
    output, dataset length, batch size, model parameters and code continues where the first one stopped; in a
    job, the resumed job does. If one of these has changed, the call starts again and says so.

    Args:
        model: a module, wrapped in DDP, FSDP or torch.compile or not, or a function.
        dataset: one with a length; where it can't be indexed, every rank reads all of it.
        batch_size: samples of a batch; None for 32, and for fewer than 2,048 samples less (a 64th of them).
        collate_fn: makes a batch of a list of samples; None for torch's own.
        num_workers: processes of each rank that load samples.
        output: a file to write, .parquet or .arrow, in a folder that all ranks share; one that is not there
            is made, and rank 0 says so.

    Returns:
        On every rank: what the model returns, for all samples in the dataset's order, on the CPU. Tensors are
        concatenated, also in dicts and tuples; other objects, and tensors whose shapes differ between
        batches, are a list. With `output`: the absolute path of the file.

    Raises:
        BadRequest: The dataset has no length, the ranks' models, datasets or outputs differ, or an argument
            is invalid.
        EnvironmentUnfit: `output` is given and pyarrow is not installed.
        PeerFailed: It failed on another rank, which raises what happened.
    """
    here = ranks("dt.predict")
    name = None if output is None else str(output)
    arguments = InferenceArguments(model, dataset, batch_size, collate_fn, num_workers, name)
    return _results(here, arguments) if name is None else _file(here, arguments, name)


def _results(here: Ranks, arguments: InferenceArguments) -> Any:
    batches = agreed(here, arguments)
    models.agree(here, arguments.model, whole=False)
    todo = plan(batches, here.size)
    mine: dict[int, Output] = {}

    def take(number: int, output: Any, _: ModelCall) -> None:
        mine[number] = parts(output, len(batches.of(number)))

    _run(here, arguments, todo, take)
    return gathered(here, todo, mine)


def _file(here: Ranks, arguments: InferenceArguments, name: str) -> Path:
    path = Path(name).expanduser().absolute()
    batches = agreed(here, arguments, also=lambda: arrow_files.check(path))
    mark = models.agree(here, arguments.model, whole=True)
    here.everyone(lambda: arrow_files.make_folder(path) if here.number == 0 else None)
    folder = here.everyone(lambda: folder_of(path, name))[0]
    # rank 0's: what a function reads may differ between ranks, such as a device
    code = here.everyone(lambda: digest(arguments.model, arguments.collate_fn) if here.number == 0 else "")[0]
    store = Parts(folder, State(batches.samples, batches.size, mark, code), batches)
    done = here.everyone(lambda: store.open() if here.number == 0 else [])[0]
    here.everyone(lambda: _check_shared(here, store))
    if done and here.number == 0:
        there = sum(len(batches.span(span)) for span in done)
        print(f"dt.predict resumes {path.name}: {there} of {batches.samples} samples are already written.")
    elif store.dropped:
        print(f"dt.predict starts {path.name} from the beginning: {store.dropped} since the unfinished call.")
    todo = plan(batches, here.size, done)
    open_: list[Writer] = []

    def chunk(which: range) -> AbstractContextManager[Any]:
        open_[:] = [store.writer(here.number)] if which else []
        return open_[0] if open_ else nullcontext()

    def take(number: int, output: Any, _: ModelCall) -> None:
        span = batches.of(number)
        open_[0].add(span, parts(output, len(span)))

    _run(here, arguments, todo, take, chunk)
    here.everyone(lambda: store.assemble(path) if here.number == 0 else None)
    return path


def _run(
    here: Ranks, arguments: InferenceArguments, todo: Plan, take: Any, chunk: Any = lambda _: nullcontext()
) -> None:
    model = arguments.model
    with models.predicting(model) as forward:
        Loop(
            here, todo, lambda numbers: arguments.load(todo.batches, numbers), forward,
            Splitter(model, False), models.device(model), models.in_step(model), take, chunk,
        ).run()  # fmt: skip


def _check_shared(here: Ranks, store: Parts) -> None:
    if not store.is_shared():
        raise BadRequest(
            f"Rank {here.number} can't see {store.folder}, which rank 0 created.",
            "Choose an output in a folder that the nodes of all ranks share.",
            code="folder_not_shared",
        )
