# SPDX-License-Identifier: GPL-3.0-or-later
"""A key that an unknown rotation has installed stays, whatever an older machine sends; a known one is marked."""

from __future__ import annotations

import hashlib
import hmac
import json
from typing import Any

import pytest
from account_scene import KEY, Folder, Plain, Scene
from ansible_collections.hpc.onboard.plugins.module_utils._engine.engine import answer
from ansible_collections.hpc.onboard.plugins.module_utils._receipt import receipt_file
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.plan import KINDS

from tests.effort import turns

pytestmark = turns(3)

CREDENTIAL = {"kind": "enroot_credential", "machine": "nvcr.io", "secret": "ngc"}
OTHER = {**CREDENTIAL, "machine": "authn.nvidia.com"}
NAMES = ["first", "r1", "r2", "r3"]


def mark(sequence: int, rotation: str = "") -> dict[str, Any]:
    """The mark of a rotation of that number."""
    return {
        "sequence": sequence,
        "rotation": rotation or f"r{sequence}",
        "machine": "m",
        "controller": "laptop",
        "when": "2026-01-01T00:00:00Z",
    }


def knowing(sequence: int, *known: str, installs: int | None = None) -> dict[str, Any]:
    """What a machine knows that installs the key of a rotation: its last one, unless another is named."""
    wanted = sequence if installs is None else installs
    return {
        "known": list(known) or NAMES[: sequence + 1],
        "mark": mark(wanted) if wanted else None,
    }


def fingerprint(value: str) -> str:
    """What the account of the scene calls a key."""
    digest = hashlib.sha256(value.encode()).digest()
    return f"key {hmac.digest(bytes.fromhex(KEY), digest, 'sha256').hex()[:12]}"


def sent(scene: Scene, value: str, knows: dict[str, Any], *resources: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The answer to a plan that has the value as the key 'ngc'."""
    plan = {**scene.plan(list(resources or [CREDENTIAL])), "receipt": True, "keys": {"ngc": knows}, **more}
    for entry in plan["resources"]:
        if "password" in entry["options"]:
            entry["key"] = "ngc@some" if knows["mark"] else "ngc"
            entry["options"]["password"] = value
    found = answer(plan, KINDS)
    assert found["error"] is None
    return found


def status(found: dict[str, Any]) -> list[str]:
    return [one["status"] for one in found["outcomes"]]


def keys(scene: Scene) -> dict[str, Any]:
    """The marks that stand in the receipt."""
    path = scene.at(f"~/{receipt_file.PLACE}")
    return json.loads(path.read_text())["keys"] if path.exists() else {}


def test_a_key_that_was_never_rotated_is_not_marked(scene: Scene) -> None:
    assert status(sent(scene, "old", knowing(0))) == ["missing"]
    assert keys(scene) == {}


def test_the_rotation_that_installs_is_marked_and_once(scene: Scene) -> None:
    assert status(sent(scene, "new", knowing(1))) == ["missing"]
    assert keys(scene) == {"ngc": mark(1)}
    before = scene.footprints()
    later = knowing(1)
    later["mark"]["when"] = "2026-02-02T00:00:00Z"
    assert status(sent(scene, "new", later)) == ["ok"]
    assert scene.footprints() == before


@pytest.mark.parametrize("work", ["reconcile", "preview", "examine"])
@pytest.mark.parametrize(
    "knows", [knowing(0), knowing(1), knowing(2, "first", "x1", "x2")], ids=["0", "1", "2, of its own"]
)
def test_an_unknown_rotation_is_not_undone(scene: Scene, work: str, knows: dict[str, Any]) -> None:
    sent(scene, "new", knowing(2))
    before = scene.footprints()
    found = sent(scene, "old", knows, work=work)
    assert status(found) == ["blocked"]
    assert found["outcomes"][0]["evidence"]["rotated"] == {**mark(2), "secret": "ngc"}
    assert scene.footprints() == before


def test_a_file_that_is_missing_is_not_made_with_an_older_key(scene: Scene) -> None:
    sent(scene, "new", knowing(1))
    assert status(sent(scene, "old", knowing(0), CREDENTIAL, OTHER)) == ["blocked", "blocked"]


def test_a_place_with_an_unknown_path_does_not_hide_why_the_key_stays_in_another(scene: Scene) -> None:
    sent(scene, "new", knowing(1))
    found = sent(scene, "old", knowing(0), CREDENTIAL, {**OTHER, "path": "$GONE/.credentials"})
    assert status(found) == ["blocked", "failed"]
    assert found["outcomes"][0]["evidence"]["rotated"]["rotation"] == "r1"
    assert "$GONE" in found["outcomes"][1]["reason"]


def test_who_has_the_key_that_is_there_is_not_stopped(scene: Scene) -> None:
    sent(scene, "new", knowing(1))
    assert status(sent(scene, "new", knowing(0), CREDENTIAL, OTHER)) == ["ok", "missing"]
    assert keys(scene) == {"ngc": mark(1)}, "it knows nothing that could be marked"


def test_a_rotation_that_is_known_goes_on_and_back(scene: Scene) -> None:
    sent(scene, "old", knowing(0))
    sent(scene, "one", knowing(1))
    assert status(sent(scene, "two", knowing(2))) == ["different"]
    assert keys(scene) == {"ngc": mark(2)}
    assert status(sent(scene, "one", knowing(2, installs=1))) == ["different"]
    assert keys(scene) == {"ngc": mark(1)}, "who knows of the first alone may go on again"
    assert status(sent(scene, "old", knowing(2, installs=0))) == ["different"]
    assert keys(scene) == {}


def test_a_machine_with_more_rotations_of_its_own_undoes_no_rotation_of_another(scene: Scene) -> None:
    sent(scene, "new", knowing(1))
    found = sent(scene, "three", knowing(3, "first", "x1", "x2", "r3"))
    assert status(found) == ["blocked"]
    assert found["outcomes"][0]["evidence"]["rotated"] == {**mark(1), "secret": "ngc"}
    assert keys(scene) == {"ngc": mark(1)}


def test_the_mark_is_of_the_machine_that_wrote_last_however_many_rotations_it_has_made(scene: Scene) -> None:
    sent(scene, "four", knowing(4, "first", "x1", "x2", "x3", "r4"))
    fresh = sent(scene, "four", {**knowing(0), "held": [fingerprint("four")]})
    assert (status(fresh), keys(scene)) == (["ok"], {"ngc": mark(4)})
    rotates = {**knowing(0, "first", "r1", installs=1), "held": [fingerprint("four")]}
    assert status(sent(scene, "seven", rotates)) == ["different"]
    assert keys(scene) == {"ngc": mark(1)}
    found = sent(scene, "four", {**knowing(4, "first", "x1", "x2", "x3", "r4"), "held": [fingerprint("four")]})
    assert (status(found), found["outcomes"][0]["evidence"]["rotated"]["rotation"]) == (["blocked"], "r1")
    assert status(sent(scene, "seven", knowing(5, "first", "x1", "x2", "x3", "r4", "r5"))) == ["ok"]
    assert keys(scene) == {"ngc": mark(1)}, "the other machine wrote the key, and this one has it, too"


def test_a_key_may_be_taken_out_whoever_rotated_it(scene: Scene) -> None:
    sent(scene, "new", knowing(1))
    assert status(sent(scene, "old", knowing(0), {**CREDENTIAL, "state": "absent"})) == ["extra"]


def test_offboarding_removes_a_receipt_that_notes_only_its_folder_and_a_rotation(scene: Scene) -> None:
    folder = {
        "kind": "directory",
        "capability": "receipt",
        "identity": "folder ~/.config",
        "state": "done",
        "for": "receipt",
    }
    note = {**folder, "made": True, "options": {"path": "~/.config"}, "hashes": {}, "keyed": {}, "clusters": []}
    whole = {
        "schema": "hpc.onboard/receipt/1.0",
        "resources": {"directory folder ~/.config": note},
        "keys": {"ngc": mark(1)},
    }
    scene.make(
        {
            "~/.config": Folder(),
            "~/.config/hpc.onboard": Folder(),
            f"~/{receipt_file.PLACE}": Plain(json.dumps(whole).encode()),
        }
    )
    sent(scene, "old", knowing(0), {**CREDENTIAL, "state": "absent"}, only_made=True)
    assert not scene.at("~/.config").exists()


def test_a_rotation_marks_and_notes_only_that_another_key_is_there(scene: Scene) -> None:
    sent(scene, "old", knowing(0))
    before = json.loads(scene.at(f"~/{receipt_file.PLACE}").read_text())["resources"]
    place = {"kind": "enroot_credential", "machine": "nvcr.io"}
    rotated = {"kind": "rotated_key", "path": "~/.config/enroot/.credentials", "places": [place], "secret": "ngc"}
    found = sent(scene, "new", knowing(0, "first", "r1", installs=1), rotated, receipt=False)
    assert (status(found), found["receipt"]) == (["different"], None)
    assert keys(scene) == {"ngc": mark(1)}
    after = json.loads(scene.at(f"~/{receipt_file.PLACE}").read_text())["resources"]
    assert after == {key: {**note, "keyed": {}} for key, note in before.items()}


def test_where_no_mark_can_be_made_no_key_is_installed(scene: Scene) -> None:
    scene.make({"~/.config": Folder(), "~/.config/hpc.onboard": Folder(), f"~/{receipt_file.PLACE}": Folder()})
    assert status(sent(scene, "new", knowing(1), receipt=False)) == ["blocked"]
