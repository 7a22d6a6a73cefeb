# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A replaced key that this machine cannot test: the reason is said, and another key is not tested in its place."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation import adapters
from ansible_collections.hpc.onboard.plugins.plugin_utils._rotation.ports import StepRefused
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets import versions
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.session import MissingKey
from ansible_collections.hpc.onboard.plugins.plugin_utils._validate.validate import ValidationSettings

NEW = "nvapi-" + "n" * 64


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        ({"ngc@v2": NEW}, "'ngc' is not in the keyring"),
        (
            {"ngc@v2": NEW, "ngc": NEW},
            "the keyring has the current key as 'ngc', which is the name of the replaced key",
        ),
    ],
)
def test_a_replaced_key_that_is_not_in_the_keyring_is_not_tested(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, keys: dict[str, str], reason: str
) -> None:
    def read_key(name: str) -> tuple[str, list[str]]:
        if name not in keys:
            raise MissingKey(f"'{name}' is not in the keyring")
        return keys[name], []

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(adapters.SESSION, "read_key", read_key)
    monkeypatch.setattr(adapters.VersionStore, "load", lambda _store: SimpleNamespace(current=SimpleNamespace(id="v2")))
    monkeypatch.setattr(adapters, "judge_key", lambda *_arguments: pytest.fail("a key was tested"))
    effects = adapters.ControllerEffects("ngc", "ngc", ValidationSettings(), lambda _name: pytest.fail("asked"), "")
    with pytest.raises(StepRefused, match=reason):
        effects.test_key(versions.FIRST)
    assert reason in effects.sentences[versions.FIRST]
