# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Variables of the environment that a program reads before the file in which a role keeps its key.

Jobs inherit the environment that they are submitted from, so such a variable outlives the file. Sources:
apptainer.org/docs/user/latest/docker_and_oci.html, docs.wandb.ai/guides/track/environment-variables,
huggingface.co/docs/huggingface_hub/package_reference/environment_variables, docs.ngc.nvidia.com/cli,
github.com/NVIDIA/enroot doc/configuration.md.
"""

from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from .._audit_checks.audit_check import LEADS_PAST, UNKNOWN_KEY, AuditCheck
from .._core.errors import AccountError
from .._core.host import Host
from .._fixes import offers
from .._formats.settings import Setting, find_settings
from .._scan.search import Search
from .._scan.start_up import site_settings

VALUES = {  # resource type of the file -> variables that hold a key or its user
    "ngc_config": ("NGC_API_KEY", "NGC_CLI_API_KEY"),
    "netrc_entry": ("WANDB_API_KEY",),
    "token_file": ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"),
    "registry_auth": tuple(
        before + "DOCKER_" + what for before in ("APPTAINER_", "SINGULARITY_", "") for what in ("USERNAME", "PASSWORD")
    ),
}
PATHS: Dict[str, Tuple[Tuple[str, str], ...]] = {  # -> variables that point to another file, and what follows them
    "netrc_entry": (("NETRC", ""),),
    "token_file": (("HF_TOKEN_PATH", ""), ("HF_HOME", "/token"), ("XDG_CACHE_HOME", "/huggingface/token")),
    "registry_auth": (("APPTAINER_AUTHFILE", ""), ("APPTAINER_CONFIGDIR", "/docker-config.json")),
    "enroot_credential": (("ENROOT_CONFIG_PATH", "/.credentials"), ("XDG_CONFIG_HOME", "/enroot/.credentials")),
}
NAMES = {name for several in VALUES.values() for name in several}
NAMES |= {name for several in PATHS.values() for name, _suffix in several}
DEFAULT_ENROOT = "/.config/enroot/.credentials"  # XDG_CONFIG_HOME counts only where no setting of the site does


class VariableExport(NamedTuple):
    """The line of a start-up file that sets a variable."""

    file: str  # as shown
    setting: Setting

    @property
    def place(self) -> str:
        """Return file and line."""
        return "%s:%d" % (self.file, self.setting.line)


class ShadowedKeys(AuditCheck):
    """Each existing file that a role keeps, against the login environment and the start-up files."""

    KIND = "shadowed_keys"
    TITLE = "variables before files with keys"
    NEEDS_SHELL = True
    OPTIONS: Dict[str, Dict[str, Any]] = {
        "kept": {"type": "dict", "required": True},  # resource type of the file -> its paths
        "known": {"type": "list", "elements": "str", "default": []},  # fingerprints of keys that may be removed
    }

    def run(self, host: Host) -> None:
        search = Search(host, [host.home])
        try:
            environment = host.account.environment()
        except AccountError as error:
            environment = {}
            self.skip("the login environment was not checked: %s" % error)
        exports = _find_exports(host, search)
        self._add_of_site(exports, [name for name in NAMES if name in environment and name not in exports], host)
        for kind, paths in sorted(self.options["kept"].items()):
            existing = [path for path in map(host.expand, paths) if host.resolved_kind(path) == "file"]
            if existing:
                self._check_values(host, kind, existing, environment, exports)
                self._check_paths(host, kind, existing, environment, exports)
        self.skip_unread(search)

    def _add_of_site(self, exports: Dict[str, VariableExport], names: List[str], host: Host) -> None:
        """Add where the site's start-up files set variables of the login environment that the account's do not set."""
        try:
            for path, setting in site_settings(host, names):
                exports.setdefault(setting.name, VariableExport(path, setting))
        except AccountError as error:
            self.skip(str(error))

    def _check_values(
        self,
        host: Host,
        kind: str,
        existing: List[str],
        environment: Dict[str, str],
        exports: Dict[str, VariableExport],
    ) -> None:
        """Report the variables whose own value a program takes instead of the key in the files."""
        for name in VALUES.get(kind, ()):
            value = environment.get(name, "")
            if not value and not (name in exports and exports[name].setting.exported):
                continue
            is_key = bool(value) and not name.endswith("USERNAME")
            text = "%s overrides %s" % (name, _join(host, existing))
            text += ", and contains " + host.fingerprint(value) if is_key else ""
            fix = self._offer_fix(host, exports.get(name))
            is_known = bool(fix) or not is_key or host.fingerprint(value) in self.options["known"]
            self.report("SEC-008", _place_of(name, exports), text, "", fix, "" if is_known else UNKNOWN_KEY)

    def _check_paths(
        self,
        host: Host,
        kind: str,
        existing: List[str],
        environment: Dict[str, str],
        exports: Dict[str, VariableExport],
    ) -> None:
        """Report the variable by which a program reads another file than these. The first variable set counts."""
        for name, suffix in PATHS.get(kind, ()):
            if name == "XDG_CONFIG_HOME" and host.home + DEFAULT_ENROOT not in existing:
                continue
            value = environment.get(name) or _exported_path(host, exports.get(name))
            if value:
                target = host.expand(value) + suffix
                if value.startswith("/") and _resolve(host, target) not in [_resolve(host, path) for path in existing]:
                    text = "%s points to another file than %s" % (name, _join(host, existing))
                    self.report("SEC-008", _place_of(name, exports), text, case=LEADS_PAST)
                return

    def _offer_fix(self, host: Host, export: Optional[VariableExport]) -> Optional[Dict[str, Any]]:
        """Return the fix that removes a variable with a known key; a path may serve other things and has none."""
        if export is None or export.file.startswith("/etc/"):
            return None
        return offers.offer_variable_fix(host, host.expand(export.file), export.setting.name, self.options["known"])


def _join(host: Host, paths: List[str]) -> str:
    return ", ".join(host.shown(path) for path in paths)


def _resolve(host: Host, path: str) -> Optional[str]:
    try:
        return host.resolve(path)
    except AccountError:
        return path  # without permission to look, it is not a file of the account


def _place_of(name: str, exports: Dict[str, VariableExport]) -> str:
    return exports[name].place if name in exports else "$" + name


def _find_exports(host: Host, search: Search) -> Dict[str, VariableExport]:
    """Return where start-up files set the variables, the first place of each; an export precedes a plain setting."""
    found: Dict[str, VariableExport] = {}
    for path in search.startup_files():
        for setting in find_settings(search.read_text(path)):
            if setting.name in NAMES:
                export = VariableExport(host.shown(path), setting)
                known = found.setdefault(setting.name, export)
                if setting.exported and not known.setting.exported:
                    found[setting.name] = export
    return found


def _exported_path(host: Host, export: Optional[VariableExport]) -> str:
    """Return the absolute path that a variable is exported with; empty if it is not written out."""
    value = export.setting.value(host.home) if export and export.setting.exported else ""
    return value if value.startswith("/") else ""
