"""A host asks for a code: the panel asks the person, and goes on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.fakes.second_factor_host import CODE, Guarded, second_factor_host
from tests.ui.conftest import open_notebook, shot
from tests.ui.lab import Lab, run_lab

pytestmark = [pytest.mark.browser, pytest.mark.processes, pytest.mark.timeout(200)]


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Lab, Guarded]]:
    root = tmp_path_factory.mktemp("guarded")
    with second_factor_host(root) as host, pytest.MonkeyPatch.context() as patch:
        (root / ".ssh").mkdir()
        (root / ".ssh" / "config").write_text(host.entry)
        patch.setenv("HOME", str(root))
        with run_lab(root / "lab") as lab:
            folder = root / "lab" / "config" / "dtrain-lab" / "profiles"
            folder.mkdir(parents=True)
            (folder / "guarded.toml").write_text('backend = "ssh"\n[ssh]\nhosts = ["guarded"]\n')
            yield lab, host


def test_a_code_is_asked_for_and_the_cluster_starts(guarded: tuple[Lab, Guarded], page: Any) -> None:
    lab, host = guarded
    open_notebook(page, lab, lab.notebook("guarded.ipynb", ["1"]))
    page.locator(".jp-Toolbar").get_by_role("button", name="Submit").click()
    form = page.locator(".jp-DtrainJob-submitForm")
    form.get_by_label("Profile", exact=True).select_option("guarded")
    report = page.locator(".jp-DtrainJob-submitReport")
    report.get_by_text("guarded asks: One-time code.").wait_for()
    report.get_by_role("button", name="Sign in…").click()
    dialog = page.locator(".jp-Dialog")
    dialog.get_by_text("From your telephone.").wait_for()
    code = dialog.get_by_label("One-time code:")
    assert code.get_attribute("type") == "password"
    shot(page, "sign-in")
    code.fill("wrong")
    dialog.get_by_role("button", name="Sign in").click()
    code.and_(page.locator("input:not([value='wrong'])")).wait_for()
    page.wait_for_function("() => document.querySelector('.jp-Dialog input')?.value === ''")
    code.fill(CODE)
    dialog.get_by_role("button", name="Sign in").click()
    report.get_by_text("Ready to submit").wait_for()
    assert host.answers == ["wrong", CODE]

    page.evaluate(
        "() => void window.jupyterapp.commands.execute("
        "'dtrain-lab:start-cluster', { profile: 'guarded', ranks: 1 })"
    )
    page.get_by_text("Ready. 1 rank waits for a cell.").wait_for(timeout=60_000)
    assert host.answers == ["wrong", CODE], "one sign-in for all"
    for cluster in lab.request("GET", "clusters"):
        lab.request("DELETE", f"clusters/{cluster['id']}")
