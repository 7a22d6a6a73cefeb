# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Further settings in an accounts file that a user wrote: every byte of theirs stays, or the file is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from ansible_collections.hpc.onboard.plugins.plugin_utils._adoption.accounts_edit import add_settings, merge
from ansible_collections.hpc.onboard.plugins.plugin_utils._init.accounts_text import NotAdded
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.diagnostics import Mistakes
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.yaml_loader import Loader

FILE = Path("accounts.yml")
FURTHER = {
    "keep": ["script ~/bin/usrun.sh", "link ~/x, y"],
    "conda": {"distribution": "own", "prefix": "/data/ada/mc"},
    "tool_caches": {"paths": {"huggingface": "/data/ada/hf"}},
    "launchers": {"minutes": 60, "mounts": ["/a:/a"]},
}
OWN = {
    "nothing": "accounts:\n  a@dfki:  # mine\n  # more\n\n# the end\n",
    "no last line end": "accounts:\n  a@dfki:",
    "lines": "accounts:\n  b@dfki:\n  a@dfki:\n      project: p   # why\n\n  c@dfki: {}\nplugin: x\n",
    "CRLF": "plugin: x\r\naccounts:\r\n  a@dfki:\r\n    project: p\r\n  b@dfki:\r\n",
    "braces": "accounts:\n  a@dfki: {project: 'p', keep: [a]}  # one line\n",
    "empty braces": "accounts:\n  a@dfki: {}\n",
    "a comma at the end": "accounts:\n  a@dfki: {project: p, keep: [a,],}\n",
    "braces over lines": "accounts:\n  a@dfki: {\n    project: p,  # why\n    conda: {wanted: true}\n  }\n",
    "settings": "accounts:\n  a@dfki:\n    conda:\n      distribution: miniforge  # was it\n    keep: [b]\n",
    "JSON": '{"plugin": "x", "accounts": {"a@dfki": {"project": "p"}, "b@dfki": null}}\n',
    "JSON with nothing": '{"accounts": {"a@dfki": null}}\n',
    "an explicit nothing": "accounts:\n  a@dfki: ~  # mine\n",
    "a text of lines": "accounts:\n  a@dfki:\n    vars:\n      x: |\n        two\n        lines\n\n  b@dfki:\n",
    "umlauts": "# Konten für Jörg\naccounts:\n  a@dfki:\n    project: p  # für Übung\n  b@dfki:\n",
}


@pytest.mark.parametrize("name", OWN)
def test_settings_are_added_and_every_line_of_the_users_stays(name: str) -> None:
    made = add_settings(FILE, OWN[name], {"a@dfki": FURTHER})
    before, after = (yaml.load(text, Loader=Loader) for text in (OWN[name], made))
    assert after == {**before, "accounts": merge(before["accounts"], {"a@dfki": FURTHER})}
    rest = iter(made)
    kept = OWN[name].replace("miniforge", "").replace("null", "").replace("~ ", "")  # a value that is another one now
    assert all(character in rest for character in kept), "only characters were added"
    assert add_settings(FILE, made, {"a@dfki": FURTHER}) == made, "a second time changes nothing"


@pytest.mark.parametrize(
    "text",
    [
        "accounts:\n  b@dfki:\n",
        "accounts:\n  b@dfki: &one {project: p}\n  a@dfki: *one\n",
        "accounts:\n  a@dfki:\n    keep:\n    - a\n",
        "accounts:\n  a@dfki: !x {}\n",
    ],
)
def test_a_file_that_cannot_be_edited_safely_is_refused(text: str) -> None:
    with pytest.raises((NotAdded, Mistakes)):
        add_settings(FILE, text, {"a@dfki": FURTHER})


def test_a_list_with_an_alias_is_refused() -> None:
    text = "x: &mine link ~/a\naccounts:\n  a@dfki:\n    keep: [*mine]\n"
    with pytest.raises(NotAdded):
        add_settings(FILE, text, {"a@dfki": FURTHER})
