# SPDX-License-Identifier: GPL-3.0-or-later
"""What the tests of verdicts share: settings that lead to the test's registry, keys, and a look at what was found."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ansible_collections.hpc.onboard.plugins.module_utils._formats.enroot import format_entry
from ansible_collections.hpc.onboard.plugins.plugin_utils._validate.https import Transport
from ansible_collections.hpc.onboard.plugins.plugin_utils._validate.key_kinds import check_key
from ansible_collections.hpc.onboard.plugins.plugin_utils._validate.validate import ValidationSettings, judge_key
from ansible_collections.hpc.onboard.plugins.plugin_utils._validate.verdict import Judgement, LevelFinding

from tests.integration.onboard.leaks import forms
from tests.testbed.registry import PRIVATE, PUBLIC, TAG, Registry, new_key, new_legacy_key

SECRET, OPEN = f"{PRIVATE}:{TAG}", f"{PUBLIC}:{TAG}"
QUICK = Transport(timeout=2, total=8, attempts=2, pause=0.05, proxies={})
ALL = ("issuer", "token", "manifest")


def settings(here: Registry, /, **changes: object) -> ValidationSettings:
    """What reaches this registry and its issuers."""
    base = f"https://{here.address}"
    chosen = {
        "issuer": f"{base}/v3/keys/get-caller-info",
        "wandb": f"{base}/graphql",
        "huggingface": f"{base}/api/whoami-v2",
        "registry": here.address,
        "image": OPEN,
        "canary": SECRET,
        "realms": (f"127.0.0.1:{here.port}",),
        "transport": replace(QUICK, ca_file=str(here.ca_file)),
        **changes,
    }
    return ValidationSettings(**chosen)  # type: ignore[arg-type]  # chosen by tests, of any type


def verdict_of(key: str, chosen: ValidationSettings, service: str = "ngc") -> Judgement:
    """The judgement, in which no form of the key shows."""
    found = judge_key(check_key(key, service), chosen)
    shown = f"{found!r} {found.sentence}".encode()
    assert [name for name, form in forms(key).items() if form in shown] == []
    return found


def by_level(found: Judgement) -> dict[str, str]:
    """Level -> verdict."""
    return {finding.level: str(finding.verdict) for finding in found.findings}


def measured(found: Judgement) -> tuple[str, ...]:
    """The levels that say something about the key."""
    return tuple(finding.level for finding in found.findings if finding.is_measured)


def level(found: Judgement, name: str) -> LevelFinding:
    """The finding of that level."""
    return next(finding for finding in found.findings if finding.level == name)


def allowed_key(registry: Registry, *repositories: str, legacy: bool = False) -> str:
    """A new key that may pull these."""
    key = new_legacy_key() if legacy else new_key()
    registry.allow(key, repositories)
    return key


def credentials(folder: Path, key: str, *hosts: str) -> Path:
    """A file in enroot's form."""
    path = folder / ".credentials"
    path.write_text("".join(format_entry(host, "$oauthtoken", key) + "\n" for host in hosts), encoding="ascii")
    return path
