# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan of one account on the controller: every resource checked, every secret's name made its value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from typing import Any, NamedTuple

from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.module_utils._core.resource import Outcome, Resource
from ansible_collections.hpc.onboard.plugins.module_utils._receipt import receipt
from ansible_collections.hpc.onboard.plugins.module_utils._resources.conda_install import CondaInstall
from ansible_collections.hpc.onboard.plugins.module_utils._resources.directory import Directory
from ansible_collections.hpc.onboard.plugins.module_utils._resources.enroot_credential import EnrootCredential
from ansible_collections.hpc.onboard.plugins.module_utils._resources.netrc_entry import NetrcEntry
from ansible_collections.hpc.onboard.plugins.module_utils._resources.ngc_config import NgcConfig
from ansible_collections.hpc.onboard.plugins.module_utils._resources.path_script import PathScript
from ansible_collections.hpc.onboard.plugins.module_utils._resources.registry_auth import RegistryAuth
from ansible_collections.hpc.onboard.plugins.module_utils._resources.shell_environment import ShellEnvironment
from ansible_collections.hpc.onboard.plugins.module_utils._resources.storage_link import StorageLink
from ansible_collections.hpc.onboard.plugins.module_utils._resources.token_file import TokenFile
from ansible_collections.hpc.onboard.plugins.plugin_utils._delivery.payload import places
from ansible_collections.hpc.onboard.plugins.plugin_utils._secrets.session import MissingKey

MODULE_UTILS = "ansible_collections.hpc.onboard.plugins.module_utils"


class Kinds(Mapping[str, type[Resource]]):
    """The kinds of resource, by name. What few runs need is loaded when it is asked for: loading takes its time."""

    def __init__(self, loaded: Iterable[type[Resource]], further: Mapping[str, str]) -> None:
        """further: kinds that are not loaded, and the place of each (see _payload.places)."""
        self._loaded = {kind.KIND: kind for kind in loaded}
        self.places = {**places(self._loaded), **further}

    def __getitem__(self, name: str) -> type[Resource]:
        if name not in self._loaded:
            module, _dot, kind = self.places[name].rpartition(".")
            self._loaded[name] = getattr(import_module(f"{MODULE_UTILS}.{module}"), kind)
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.places)

    def __len__(self) -> int:
        return len(self.places)


KINDS = Kinds(
    (
        CondaInstall,
        Directory,
        EnrootCredential,
        NetrcEntry,
        NgcConfig,
        PathScript,
        RegistryAuth,
        ShellEnvironment,
        StorageLink,
        TokenFile,
    ),
    {
        "key_leftovers": "_resources.key_leftovers.KeyLeftovers",
        "rotated_key": "_resources.rotated_key.RotatedKey",
    },
)
PLACES = KINDS.places  # what the payload takes
UNKNOWN_KEY = "unknown"
TYPES: dict[str, type] = {"str": str, "path": str, "dict": dict, "list": list, "int": int}


class Plan(NamedTuple):
    """What is sent, and the outcomes of what cannot be sent because its key is missing, by position."""

    entries: list[dict[str, Any]]
    unmet: dict[int, dict[str, Any]]

    @classmethod
    def of(cls, declared: list[dict[str, Any]], key: Callable[[str], str]) -> Plan:
        """Check every resource before anything is touched. Raises AccountError for the first that is wrong."""
        plan = cls([], {})
        for position, entry in enumerate(declared):
            options = dict(entry["options"])
            secret = options.pop("secret", None)
            try:
                if secret is not None:
                    options["password"] = key(secret)
                plan.entries.append({**entry, "options": _checked(entry, options)})
            except MissingKey as error:
                named = _checked(entry, {**options, "password": UNKNOWN_KEY})
                outcome = Outcome.unmet(KINDS[entry["kind"]](named).identity, "failed", str(error))
                plan.unmet[position] = {**outcome.document(), "capability": entry["capability"]}
        return plan

    def merged(self, answered: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The outcomes of all resources in the order they were declared. Raises AccountError when some are missing."""
        if len(answered) != len(self.entries):
            raise AccountError(
                f"the account answered for {len(answered)} of {len(self.entries)} resources: what it did with the"
                " others is unknown. Run again: it reads back what was done"
            )
        answers = iter(answered)
        total = len(answered) + len(self.unmet)
        return [self.unmet[i] if i in self.unmet else next(answers) for i in range(total)]


def key_of(entry: Mapping[str, Any]) -> str:
    """What an entry's resource is noted under in a receipt."""
    options = dict(entry["options"])
    if options.pop("secret", None) is not None:
        options["password"] = UNKNOWN_KEY
    return receipt.key(entry, KINDS[entry["kind"]](_checked(entry, options)).identity)


def _checked(entry: Mapping[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    """The options, complete and checked by the resource itself."""
    kind = KINDS.get(str(entry["kind"]))
    if kind is None:
        raise AccountError(f"{entry['kind']!r} is no kind of resource; there are: {', '.join(sorted(KINDS))}")
    unknown = sorted(set(options) - set(kind.OPTIONS))
    if unknown:
        raise AccountError(f"{entry['capability']}: {entry['kind']} has no option {unknown[0]!r}")
    missing = sorted(name for name, spec in kind.OPTIONS.items() if spec.get("required") and not options.get(name))
    if missing:
        raise AccountError(f"{entry['capability']}: {entry['kind']} needs {', '.join(missing)}")
    for name, value in options.items():
        wanted = TYPES[kind.OPTIONS[name]["type"]]
        if not isinstance(value, wanted) and value is not None:
            raise AccountError(f"{entry['capability']}: {name} of {entry['kind']} is no {wanted.__name__}")
    defaults = {name: spec["default"] for name, spec in kind.OPTIONS.items() if "default" in spec}
    whole = {**defaults, **{name: value for name, value in options.items() if value is not None}}
    for name, spec in kind.OPTIONS.items():
        if "choices" in spec and whole.get(name) not in spec["choices"]:
            raise AccountError(
                f"{entry['capability']}: {name} is {whole.get(name)!r}, not one of {', '.join(spec['choices'])}"
            )
    try:
        kind(whole)
    except AccountError as error:
        raise AccountError(f"{entry['capability']}: {error}") from None
    return whole
