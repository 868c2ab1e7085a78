"""The change that advice means, in a user's own cell."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch

from dtrain_lab.metrics.advice.code_change import changed, ddp_name
from dtrain_lab.metrics.advice.loop_accumulation import accumulate

CELL = """%%distributed
model = DDP(build())
for step, batch in enumerate(loader):
    loss = model(batch).loss
    loss.backward()
    opt.step(); opt.zero_grad()
    log(loss)"""
FUNCTION = """def train(net, loader):
    for bx, by in loader:
        optimizer.zero_grad()
        loss = loss_of(net(bx), by)
        loss.backward()
        optimizer.step()
train(model, loader)"""


def applied(diff: str) -> str:
    return "\n".join(line[1:] for line in diff.splitlines()[3:] if line[0] in " +")


def test_every_second_batch_sends_gradients_and_steps() -> None:
    text = applied(accumulate(CELL))
    assert (
        "    with nullcontext() if ends_group else model.no_sync():\n        loss = model(batch).loss" in text
    )
    assert "    group_size = min(2, len(loader) - step // 2 * 2)  # fewer at the end\n" in text
    assert (
        "        (loss / group_size).backward()\n    if ends_group:\n        opt.step(); opt.zero_grad()\n"
        in text
    )
    compile(text.replace("%%distributed\n", ""), "cell", "exec")


def test_a_loop_without_a_counter_gets_one_and_a_function_its_own_name() -> None:
    text = applied(accumulate(FUNCTION, ddp_name(CELL)))
    assert "    for batch_number, (bx, by) in enumerate(loader):" in text
    assert "        if batch_number % 2 == 0:\n            optimizer.zero_grad()\n" in text
    assert "net.no_sync()" in text
    compile(text, "cell", "exec")


LOOP = """for x, y in loader:
    {}
"""
WRONG = {
    "late zero_grad": "loss = f(net(x), y)\n    opt.zero_grad()\n    loss.backward()\n    opt.step()",
    "one line": "opt.zero_grad(); loss = f(net(x), y); loss.backward(); opt.step()",
    "two lines": "opt.zero_grad(); loss = f(net(x), y)\n    loss.backward(); opt.step()",
    "own clipping": "loss = f(net(x), y)\n    loss.backward()\n    clip_grad_norm_(net.parameters(), 1)\n"
    "    opt.step()\n    opt.zero_grad()",
    "a scaler": "scaler.scale(f(net(x), y)).backward()\n    scaler.step(opt)\n    scaler.update()",
    "a closure": "loss = f(net(x), y)\n    loss.backward()\n    opt.step(lambda: 0)",
    "two backwards": "net(x).backward()\n    net(y).backward()\n    opt.step()",
    "a skipped batch": "loss = f(net(x), y)\n    if isnan(loss):\n        continue\n    loss.backward()\n"
    "    opt.step()\n    opt.zero_grad()",
    "an early end": "loss = f(net(x), y)\n    loss.backward()\n    opt.step()\n    opt.zero_grad()\n"
    "    if done():\n        break",
    "its own batch_number": "batch_number = 3\n    net(x).backward()\n    opt.step()",
}


@pytest.mark.parametrize("case", WRONG)
def test_a_loop_of_another_order_is_not_changed(case: str) -> None:
    assert accumulate(LOOP.format(WRONG[case]), "net") == ""
    assert accumulate("for x in loader: net(x).backward(); opt.step()", "net") == ""


PLAIN = "    opt.zero_grad()\n    net(x).backward()\n    opt.step()"


@pytest.mark.parametrize(
    ("header", "total"),
    [
        ("for x in loader:", "len(loader)"),
        ("for x in self.loader:", "len(self.loader)"),
        ("for x in tqdm(loader, desc='é'):", "len(loader)"),
        ("for i, x in enumerate(loader, 1):", "len(loader)"),
        ("for i, x in enumerate(tqdm.auto.tqdm(loader)):", "len(loader)"),
        ("for i in range(steps):", "steps"),
        ("for i in range(1, 200):", "len(range(1, 200))"),
    ],
)
def test_the_number_of_batches_is_that_of_what_the_loop_reads(header: str, total: str) -> None:
    assert f"min(4, {total} - " in applied(accumulate(f"{header}\n{PLAIN}", "net", every=4))


@pytest.mark.parametrize("read", ["zip(a, b)", "islice(loader, 9)", "batches()", "range(count())"])
def test_a_loop_of_unknown_length_is_not_changed(read: str) -> None:
    assert accumulate(f"for x in {read}:\n{PLAIN}", "net") == ""


@pytest.mark.parametrize(
    ("made", "sized"),
    [
        ("batches = islice(loader, 6)", False),
        ("batches = (b for b in loader)", False),
        ("n, batches = 6, iter(loader)", False),
        ("batches = list(islice(loader, 6))", True),
        ("batches: DataLoader = DataLoader(data)", True),
        ("net, batches = accelerator.prepare(net, batches)", True),
        ("batches = [1, 2]", True),
    ],
)
def test_a_name_that_a_cell_gives_to_an_iterator_has_no_length(made: str, sized: bool) -> None:
    assert bool(accumulate(f"{made}\nfor x in batches:\n{PLAIN}", "net")) == sized


def test_a_bar_that_is_told_of_each_batch_is_no_scaler() -> None:
    told = accumulate(f"for x in loader:\n{PLAIN}\n    bar.update(1)", "net")
    assert applied(told).endswith("\n    bar.update(1)"), "in each batch, as before"


def test_a_loop_inside_that_is_left_early_leaves_no_batch() -> None:
    inside = "\n    for p in names:\n        if p:\n            continue"
    assert accumulate(f"for x in loader:\n{PLAIN}{inside}", "net")
    assert not accumulate(f"for x in loader:\n{PLAIN}{inside.replace('continue', 'return')}", "net")


@pytest.mark.parametrize(("batches", "sent"), [(8, 2), (10, 3), (9, 3), (3, 1)])
def test_the_changed_loop_trains_as_one_large_batch(batches: int, sent: int) -> None:
    """The diff is run: gradients go once in four batches, and for the last ones of an epoch."""
    code = LOOP.format(
        "x = x.double()\n    opt.zero_grad()\n    out = net(x)\n    loss = out.mul(y).mean()\n"
        "    loss.backward()\n    opt.step()\n    seen.append(loss.item())"
    )
    text = applied(accumulate(code, "net", every=4))
    data = [(torch.randn(2, 3), torch.randn(2, 1).double()) for _ in range(batches)]

    def trained(code: str, loader: list[Any]) -> tuple[torch.Tensor, int, list[float]]:
        torch.manual_seed(0)
        net = Counted(torch.nn.Linear(3, 1).double())
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        seen: list[float] = []
        exec(code, {"net": net, "opt": opt, "loader": loader, "seen": seen})
        return net.inside.weight.detach(), net.quiet, seen

    large = [
        (torch.cat([x for x, _ in data[i : i + 4]]), torch.cat([y for _, y in data[i : i + 4]]))
        for i in range(0, batches, 4)
    ]
    ours, quiet, seen = trained(text, data)
    torch.testing.assert_close(ours, trained(code, large)[0])
    assert (quiet, len(seen)) == (batches - sent, batches)


class Counted(torch.nn.Module):
    """A model that counts how often it is told not to send gradients."""

    def __init__(self, inside: torch.nn.Linear) -> None:
        super().__init__()
        self.inside, self.quiet = inside, 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inside(x)  # type: ignore[no-any-return]

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        self.quiet += 1
        yield


@pytest.mark.parametrize(
    "code", ["", "x = 1", "!ls", "%%distributed\n!ls", "for b in l:\n    b.backward()", FUNCTION]
)
def test_what_is_not_understood_is_not_changed(code: str) -> None:
    assert accumulate(code) == ""


def test_eight_batches_are_eight() -> None:
    text = applied(accumulate(CELL, every=8))
    assert "ends_group = step % 8 == group_size - 1" in text
    assert "min(8, len(loader) - step // 8 * 8)" in text


HOOK = ("bf16", {})
FOUR = ("accumulate", {"every": 4})
TWO = ("workers", {"workers": 2})
MADE = """%%distributed
import dtrain_lab as dt
ddp = DDP(net)
opt = torch.optim.Adam(
    ddp.parameters(),
)
for x in loader:
    ddp(x).backward()"""
LATER = """opt = SGD(model.parameters(), lr=1)
model = DDP(model)"""
FACTORY = """def make(width):
    model = DDP(build(width))
    optimizer = SGD(model.parameters())
    return model, optimizer"""
LOADER = """données = DataLoader(ré, batch_size=4)  # é"""
LINES = """loader = DataLoader(
    data,
    num_workers=1,
)"""


@pytest.mark.parametrize(
    ("code", "advice", "line"),
    [
        (MADE, HOOK, 'ddp, opt = dt.optimize(ddp, opt, gradient_compression="bf16")'),
        (MADE, FOUR, "ddp, opt = dt.optimize(ddp, opt, gradient_accumulation_steps=4)"),
        (LATER, FOUR, "model, opt = dt.optimize(model, opt, gradient_accumulation_steps=4)"),
        (
            FACTORY,
            FOUR,
            "    model, optimizer = dt.optimize(model, optimizer, gradient_accumulation_steps=4)",
        ),
        (
            "model, optimizer = make(64)",
            HOOK,
            'model, optimizer = dt.optimize(model, optimizer, gradient_compression="bf16")',
        ),
        (
            "m, o = dt.optimize(m, o, gradient_accumulation_steps=2)",
            FOUR,
            "m, o = dt.optimize(m, o, gradient_accumulation_steps=4)",
        ),
        (
            "m, o = dt.optimize(m, o, gradient_accumulation_steps=2)",
            HOOK,
            'm, o = dt.optimize(m, o, gradient_accumulation_steps=2, gradient_compression="bf16")',
        ),
        (LOADER, TWO, "données = DataLoader(ré, batch_size=4, num_workers=2, persistent_workers=True)  # é"),
        (LINES, TWO, "    num_workers=2,"),
        (
            "loader = DataLoader(data, 4, True, None, None, 1)",
            TWO,
            "loader = DataLoader(data, 4, True, None, None, 2, persistent_workers=True)",
        ),
        (
            "loader = DataLoader(data, 4, True, None, None, 0, join, True)",
            TWO,
            "loader = DataLoader(data, 4, True, None, None, 2, join, True, persistent_workers=True)",
        ),
    ],
)
def test_a_change_is_where_model_optimizer_or_loader_is_made(
    code: str, advice: tuple[str, dict[str, Any]], line: str
) -> None:
    text = applied(changed(code, *advice))
    assert line in text.splitlines()


def test_the_import_is_added_once() -> None:
    assert applied(changed(LATER, *FOUR)).splitlines()[0] == "import dtrain_lab as dt"
    assert "+import dtrain_lab as dt" not in changed(MADE, *FOUR)


def test_the_call_comes_after_the_model_is_wrapped() -> None:
    lines = applied(changed(LATER, *FOUR)).splitlines()
    assert lines.index("model = DDP(model)") < lines.index(
        "model, opt = dt.optimize(model, opt, gradient_accumulation_steps=4)"
    )


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        ("x = 1", FOUR),
        ("!ls", HOOK),
        ("opt = SGD(other.parameters())", HOOK),
        ("dt.optimize(m, o, **options)", HOOK),
        ("a = DataLoader(x)\nb = DataLoader(y)", TWO),
        ("a = DataLoader(*given)", TWO),
        ("l = DataLoader(\n    x\n)", TWO),
        ("model = DDP(net)\nopt = SGD(model.parameters())", ("float32", {})),
    ],
)
def test_a_cell_without_a_clear_place_is_not_changed(code: str, advice: tuple[str, dict[str, Any]]) -> None:
    assert changed(code, *advice, model="model") == ""


def test_training_runs_on_as_before_with_twice_the_batch() -> None:
    torch = pytest.importorskip("torch")
    code = """
torch.manual_seed(0)
model = DDP(torch.nn.Linear(3, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for bx, by in batches:
    loss = (model(bx) - by).square().mean()
    loss.backward()
    opt.step()
    opt.zero_grad()
"""

    class DDP(torch.nn.Module):
        def __init__(self, inner: object) -> None:
            super().__init__()
            self.inner = inner

        def forward(self, x: object) -> object:
            return self.inner(x)

        def no_sync(self) -> object:
            import contextlib

            return contextlib.nullcontext()

    torch.manual_seed(1)
    halves = [(torch.randn(4, 3), torch.randn(4, 1)) for _ in range(6)]
    pairs = zip(halves[::2], halves[1::2], strict=True)
    whole = [(torch.cat([a, c]), torch.cat([b, d])) for (a, b), (c, d) in pairs]

    def trained(source: str, batches: object) -> object:
        names = {"torch": torch, "DDP": DDP, "batches": batches}
        exec(source, names)
        return torch.cat([p.flatten() for p in names["model"].parameters()])  # type: ignore[attr-defined]

    changed = "\n".join(line[1:] for line in accumulate(code).splitlines()[3:] if line[0] in " +")
    head = code.splitlines()
    changed = "\n".join([*head[: head.index("model = DDP(torch.nn.Linear(3, 1))") - 1], changed])
    assert torch.allclose(trained("torch.manual_seed(0)\n" + changed, halves), trained(code, whole))


FUTURE = "from __future__ import annotations\n"


@pytest.mark.parametrize("way", ["loop", "optimize"])
def test_imports_come_after_those_that_have_to_be_first(way: str) -> None:
    made = f"{FUTURE}model = DDP(net)\noptimizer = SGD(model.parameters(), lr=1)\n"
    diff = (
        accumulate(CELL.replace("%%distributed\n", FUTURE))
        if way == "loop"
        else changed(made, "accumulate", {"every": 4})
    )
    text = applied(diff)
    compile(text, "cell", "exec")
    assert text.splitlines()[1] in ("from contextlib import nullcontext", "import dtrain_lab as dt")


def test_a_text_over_several_lines_is_not_indented() -> None:
    lines = CELL.splitlines()
    assert accumulate("\n".join([*lines[:3], '    note = f"""of', '{batch}"""', *lines[3:]])) == ""
    assert accumulate("\n".join([*lines[:3], '    note = f"of {batch}"', *lines[3:]])) != ""
