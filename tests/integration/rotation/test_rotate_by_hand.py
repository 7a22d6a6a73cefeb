# SPDX-License-Identifier: GPL-3.0-or-later
"""A rotation over an account that no program may enter: pending, never connected to, and verified by its answer."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.integration.onboard.test_by_hand import BY_HAND, Node
from tests.integration.rotation.rotation_scene import Stage, settled, staged
from tests.testbed.registry import PRIVATE, new_key

pytestmark = pytest.mark.testbed


class WithOneByHand(Stage):
    """A stage whose last account no program may enter any more."""

    @property
    def file(self) -> str:
        return str(self.bed.accounts_file(self.accounts, settings={self.accounts[-1].name: BY_HAND}))

    def wanted(self, key: str | None, name: str, wishes: dict[str, Any]) -> list[str]:
        _option, _file, *rest = super().wanted(key, name, wishes)
        return ["-i", self.file, *rest]

    def types(self, *words: str) -> Any:
        """The command, in the stage's folder."""
        environment = {**self.environment, "HPC_ONBOARD_ACCOUNTS": self.file}
        return self.bed.ansible(*words, program="hpc-onboard", cwd=self.folder, env=environment)


def test_it_is_pending_until_its_answer_is_back(bed: Any, tmp_path: Path) -> None:
    with staged(bed, tmp_path, ("lrz", "dfki")) as before:
        stage = WithOneByHand(*before)
        inside, account = stage.accounts
        new = new_key()
        stage.registry.allow(new, [PRIVATE])
        account.reset_sessions()
        first = stage.rotate(key=new)
        said = " ".join(first.text.split())
        assert first.code == 2, said
        assert "pending: programs may not log in" in said, said
        assert f"export_script.yml -l {account.name}" in said.replace("\\", "")
        assert account.logins() == 0
        assert set(stage.held(inside)) == {new}
        assert set(stage.held(account)) == {stage.old}

        done = stage.types("export-script", account.name, "-o", "paper.py")
        assert done.returncode == 0, done.stdout + done.stderr
        assert not {new, stage.old} & set((tmp_path / "paper.py").read_text().split())
        shutil.copyfile(tmp_path / "paper.py", account.path("paper.py"))
        node = Node(account, "paper.py")
        code, shown = node.runs(keys=(new,))
        assert code == 0, shown
        assert "the new key 'ngc'" in shown
        shutil.copyfile(node.answer("onboard"), tmp_path / "answer.json")
        done = stage.types("import-result", "answer.json")
        assert done.returncode == 0, done.stdout + done.stderr
        assert "has the new key" in " ".join(done.stdout.split())
        account.reset_sessions()
        last = stage.rotate(rotate_resume=True)
        assert "settled" in last.text, last.text
        assert "pending: no" not in last.text, last.text
        assert "failed" not in last.text, last.text
        assert account.logins() == 0
        assert settled(stage, new)
