# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Variables of the environment that a program heeds before the file with the key that a role keeps for it.

Jobs inherit the environment that they are submitted from, so such a variable outlives the file. Sources:
apptainer.org/docs/user/latest/docker_and_oci.html, docs.wandb.ai/guides/track/environment-variables,
huggingface.co/docs/huggingface_hub/package_reference/environment_variables, docs.ngc.nvidia.com/cli,
github.com/NVIDIA/enroot doc/configuration.md.
"""

from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

from .._core.errors import AccountError
from .._core.host import Host
from .._core.resource import Resource
from .._formats.settings import Setting, find_settings
from .._scan.search import Search
from .watch import LEADS_PAST, UNKNOWN_KEY, Seen, Watch

VALUES = {  # kind of the file -> variables that hold a key or its user
    "ngc_config": ("NGC_API_KEY", "NGC_CLI_API_KEY"),
    "netrc_entry": ("WANDB_API_KEY",),
    "token_file": ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"),
    "registry_auth": tuple(
        before + "DOCKER_" + what for before in ("APPTAINER_", "SINGULARITY_", "") for what in ("USERNAME", "PASSWORD")
    ),
}
PATHS: Dict[str, Tuple[Tuple[str, str], ...]] = {  # -> variables that lead to another file, and what is put behind
    "netrc_entry": (("NETRC", ""),),
    "token_file": (("HF_TOKEN_PATH", ""), ("HF_HOME", "/token"), ("XDG_CACHE_HOME", "/huggingface/token")),
    "registry_auth": (("APPTAINER_AUTHFILE", ""), ("APPTAINER_CONFIGDIR", "/docker-config.json")),
    "enroot_credential": (("ENROOT_CONFIG_PATH", "/.credentials"), ("XDG_CONFIG_HOME", "/enroot/.credentials")),
}
DEFAULT_ENROOT = "/.config/enroot/.credentials"  # XDG_CONFIG_HOME counts only where no setting of the site does


class Export(NamedTuple):
    """Where a start-up file sets a variable, and how."""

    place: str
    setting: Setting


class ShadowedKeys(Watch):
    """Each file that a role keeps and that is there, against the login environment and the start-up files."""

    KIND = "shadowed_keys"
    OPTIONS: Dict[str, Dict[str, Any]] = {
        "kept": {"type": "dict", "required": True},  # kind of the file -> its paths
        "known": {"type": "list", "elements": "str", "default": []},  # fingerprints of keys that may be taken out
    }

    def name(self) -> str:
        return "variables before files of keys"

    def touches(self, host: Host) -> List[str]:
        return [host.home]

    def bound(self, host: Host) -> Resource:
        """The login shell is asked here, once for all: every child of the engine inherits the answer."""
        host.account.load_environment()
        return super().bound(host)

    _search: Optional[Search] = None
    _problem = ""

    def seen(self, host: Host) -> List[Seen]:
        """The variables that go before a file of ours."""
        self._search = Search(host, [host.home])
        environment = self._environment(host)
        exports = _exports(host, self._search)
        found: Dict[str, Seen] = {}
        for kind, paths in sorted(self.options["kept"].items()):
            there = [path for path in map(host.expand, paths) if host.resolved_kind(path) == "file"]
            for one in self._before(host, kind, there, environment, exports) if there else ():
                found.setdefault(one.place, one)
        return list(found.values())

    def unseen(self, host: Host) -> List[str]:
        """What the look left out."""
        left = self._search.left_out() if self._search else []
        return left + (["the login environment was not looked at: %s" % self._problem] if self._problem else [])

    def _environment(self, host: Host) -> Dict[str, str]:
        try:
            return host.account.environment()
        except AccountError as error:
            self._problem = str(error)
            return {}

    def _before(
        self, host: Host, kind: str, there: List[str], environment: Dict[str, str], exports: Dict[str, Export]
    ) -> Iterator[Seen]:
        """Return the variables that go before the files of a kind."""
        files = ", ".join(host.shown(path) for path in there)
        for name in VALUES.get(kind, ()):
            value = environment.get(name, "")
            if value or (name in exports and exports[name].setting.exported):
                secret = value and not name.endswith("USERNAME")
                text = "%s goes before %s%s" % (name, files, ", and holds " + host.fingerprint(value) if secret else "")
                fix = self._fix(host, name, exports)
                case = "" if fix or not secret or host.fingerprint(value) in self.options["known"] else UNKNOWN_KEY
                yield Seen("SEC-008", _place(name, exports), text, "", fix, case)
        for name, behind in PATHS.get(kind, ()):
            value = environment.get(name) or _plain(host, exports.get(name))
            if name == "XDG_CONFIG_HOME" and host.home + DEFAULT_ENROOT not in there:
                continue
            if value:
                led = host.expand(value) + behind
                if value.startswith("/") and _resolved(host, led) not in [_resolved(host, path) for path in there]:
                    yield Seen("SEC-008", _place(name, exports), "%s leads past %s" % (name, files), case=LEADS_PAST)
                return  # the first one that is set counts

    def _fix(self, host: Host, name: str, exports: Dict[str, Export]) -> Optional[Dict[str, Any]]:
        """Return what takes out a variable that holds a known key; one that leads elsewhere may serve other things."""
        from .._fixes import offers  # few accounts have such variables

        path = exports[name].place.rpartition(":")[0] if name in exports else ""
        known = self.options["known"]
        return offers.cautious(offers.of_variable, host, host.expand(path), name, known) if path else None


def _resolved(host: Host, path: str) -> Optional[str]:
    try:
        return host.resolve(path)
    except AccountError:
        return path  # it may not even be looked for, so it is none of ours


def _place(name: str, exports: Dict[str, Export]) -> str:
    return exports[name].place if name in exports else "$" + name


def _exports(host: Host, search: Search) -> Dict[str, Export]:
    """Where start-up files set the variables, the first place of each; an export goes before a bare setting."""
    wanted = {name for names in VALUES.values() for name in names}
    wanted |= {one[0] for several in PATHS.values() for one in several}
    found: Dict[str, Export] = {}
    for path in search.start_ups():
        for one in find_settings(search.text(path)):
            if one.name in wanted:
                export = Export("%s:%d" % (host.shown(path), one.line), one)
                known = found.setdefault(one.name, export)
                if one.exported and not known.setting.exported:
                    found[one.name] = export
    return found


def _plain(host: Host, export: Optional[Export]) -> str:
    """The path that an exported variable is set to where it is written out; else nothing."""
    value = export.setting.value(host.home) if export and export.setting.exported else ""
    return value if value.startswith("/") else ""
