# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The check for environment variables that take precedence over a key file which an Ansible role of hpc-onboard writes.

Jobs inherit the environment of the shell that submits them, so such a variable affects jobs as well. Sources:
apptainer.org/docs/user/latest/docker_and_oci.html, docs.wandb.ai/guides/track/environment-variables,
huggingface.co/docs/huggingface_hub/package_reference/environment_variables, docs.ngc.nvidia.com/cli,
github.com/NVIDIA/enroot doc/configuration.md.
"""

import re
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

from .._audit_checks.audit_check import LEADS_PAST, UNKNOWN_KEY, AuditCheck, find_entry, resolve_readable
from .._core.errors import AccountError
from .._core.host import Host
from .._fixes import offers
from .._formats import key_files
from .._formats.settings import Setting, find_settings
from .._scan.home_listing import HomeListing
from .._scan.search import Search, expand_paths
from .._shells.site_files import find_site_settings

VALUES = {  # resource type of the key file -> variables whose value a program uses instead: a key, or its user
    "ngc_config": ("NGC_API_KEY", "NGC_CLI_API_KEY"),
    "netrc_entry": ("WANDB_API_KEY",),
    "token_file": ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"),
    "registry_auth": tuple(
        prefix + "DOCKER_" + field
        for prefix in ("APPTAINER_", "SINGULARITY_", "")
        for field in ("USERNAME", "PASSWORD")
    ),
}
# Resource type of the key file -> (variable, the rest of the path below its value) of each file that a program reads
# instead. A program uses the first variable that is set.
PATHS: Dict[str, Tuple[Tuple[str, str], ...]] = {
    "netrc_entry": (("NETRC", ""),),
    "token_file": (("HF_TOKEN_PATH", ""), ("HF_HOME", "/token"), ("XDG_CACHE_HOME", "/huggingface/token")),
    "registry_auth": (("APPTAINER_AUTHFILE", ""), ("APPTAINER_CONFIGDIR", "/docker-config.json")),
    "enroot_credential": (("ENROOT_CONFIG_PATH", "/.credentials"), ("XDG_CONFIG_HOME", "/enroot/.credentials")),
}
NAMES = {name for names in VALUES.values() for name in names}
NAMES |= {name for pairs in PATHS.values() for name, _suffix in pairs}
# files, and a folder of files, that set variables at every login
OF_LOGINS, LOGIN_FOLDER = ("~/.pam_environment", "~/.ssh/environment"), "~/.config/environment.d/"
DEFAULT_ENROOT = "/.config/enroot/.credentials"  # XDG_CONFIG_HOME has an effect only if the site uses this default


class VariableExport(NamedTuple):
    """The line of a start-up file that sets a variable."""

    file: str  # displayed path
    setting: Setting

    @property
    def place(self) -> str:
        """Return file and line, such as ~/.bashrc:12."""
        return "%s:%d" % (self.file, self.setting.line)


class ShadowedKeys(AuditCheck):
    """Variables of the login environment and of start-up files that override an existing key file of a role."""

    KIND = "shadowed_keys"
    TITLE = "variables that override key files"
    NEEDS_SHELL = True
    OPTIONS: Dict[str, Dict[str, Any]] = {
        "kept": {"type": "dict", "required": True},  # resource type of the file -> its paths
        "known": {"type": "list", "elements": "str", "default": []},  # fingerprints of keys that may be removed
        "areas": {"type": "list", "elements": "str", "default": []},  # storage areas, whose scripts may use a variable
    }

    def run(self, host: Host) -> None:
        """Check the variables that override an existing key file, for each resource type."""
        search = Search(host, [host.home])
        try:
            environment = host.account.environment()
        except AccountError as error:
            environment = {}
            self.skip("the login environment was not checked: %s" % error)
        exports = _find_exports(host, search)
        unexplained = [name for name in NAMES if name in environment and name not in exports]
        self._add_site_exports(exports, unexplained, host)
        for kind, paths in sorted(self.options["kept"].items()):
            absolute = self.expand(paths, host)
            existing = [path for path in absolute if getattr(find_entry(path, host), "kind", "") == "file"]
            if existing:
                self._check_values(host, kind, existing, environment, exports)
                self._check_paths(host, kind, existing, environment, exports)
        self.skip_unread(search)

    def _add_site_exports(self, exports: Dict[str, VariableExport], names: List[str], host: Host) -> None:
        """Add to exports the lines of the site's start-up files that set these variables."""
        try:
            for path, setting in find_site_settings(host, names):
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
        """Report the variables whose value a program uses instead of the key in its file.

        kind: the resource type. existing: its key files that exist. environment: the variables of a login shell.
        exports: the lines of start-up files that set variables, by variable.
        """
        for name in VALUES.get(kind, ()):
            # A value may contain bytes that are not UTF-8, of which there is no fingerprint.
            value = environment.get(name, "").encode("utf-8", "replace").decode("utf-8")
            is_exported = name in exports and exports[name].setting.exported
            if not value and not is_exported:
                continue  # no shell sets the variable
            is_key = bool(value) and not name.endswith("USERNAME")  # a user name is not secret
            text = "%s overrides %s" % (name, _join_shown(host, existing))
            if is_key:
                text = "%s overrides %s, and contains %s" % (name, _join_shown(host, existing), host.fingerprint(value))
            fix = self._offer_fix(host, exports.get(name))
            # If there is a fix, the key is known.
            is_unknown_key = is_key and not fix and host.fingerprint(value) not in self.options["known"]
            case = UNKNOWN_KEY if is_unknown_key else ""
            self.report("SEC-008", _place_of(name, exports), text, auto_fix=fix, case=case)

    def _check_paths(
        self,
        host: Host,
        kind: str,
        existing: List[str],
        environment: Dict[str, str],
        exports: Dict[str, VariableExport],
    ) -> None:
        """Report the variable that makes a program read a different key file. For the parameters, see _check_values."""
        for name, suffix in PATHS.get(kind, ()):
            if name == "XDG_CONFIG_HOME" and host.home + DEFAULT_ENROOT not in existing:
                continue  # the site does not use the default file of enroot
            value = environment.get(name) or _exported_path(host, exports.get(name))
            if value.startswith("/"):
                real = resolve_readable(host.expand(value) + suffix, host)
                if real not in [resolve_readable(path, host) for path in existing]:
                    text = "%s points to a different file than %s" % (name, _join_shown(host, existing))
                    self.report("SEC-008", _place_of(name, exports), text, case=LEADS_PAST)
            if value:
                return  # the program ignores the other variables

    def _offer_fix(self, host: Host, export: Optional[VariableExport]) -> Optional[Dict[str, Any]]:
        """Return the fix that removes a variable with a known key; None if the user's start-up files do not set it."""
        if export is None or export.file.startswith("/etc/"):  # a file of the site
            return None
        areas, _skipped = expand_paths(host, self.options["areas"])
        path, name = host.expand(export.file), export.setting.name
        return offers.offer_variable_fix(host, path, name, self.options["known"], areas)


def _join_shown(host: Host, paths: List[str]) -> str:
    """Return the paths for a message, separated by commas."""
    return ", ".join(host.shown(path) for path in paths)


def _place_of(name: str, exports: Dict[str, VariableExport]) -> str:
    """Return where a variable is set: file and line, or just its name if no start-up file sets it."""
    return exports[name].place if name in exports else "$" + name


def _find_exports(host: Host, search: Search) -> Dict[str, VariableExport]:
    """Return the line that sets each variable of NAMES: the first line that exports the variable, or else the first."""
    exports: Dict[str, VariableExport] = {}
    paths = search.startup_files(HomeListing(host).select(key_files.START_UPS))
    for path in paths[:]:  # a copy, because the loop extends the list
        paths += key_files.find_sourced_files(search.read_text(path), host.home)
    for path in dict.fromkeys(paths):
        for setting in _find_settings(host.shown(path), search.read_text(path)):
            if setting.name in NAMES:
                export = VariableExport(host.shown(path), setting)
                first = exports.setdefault(setting.name, export)
                if setting.exported and not first.setting.exported:
                    exports[setting.name] = export
    return exports


def _find_settings(shown: str, text: str) -> Iterator[Setting]:
    """Yield the settings in a start-up file. The files that are read at every login export each variable.

    shown: the displayed path of the file. text: its content.
    """
    if shown in OF_LOGINS or shown.startswith(LOGIN_FOLDER):
        text = re.sub(r"(?m)^(\w+)[ \t]+(?:DEFAULT|OVERRIDE)=", r"\1=", text)  # of .pam_environment
        yield from (setting._replace(exported=True) for setting in find_settings(text))
    else:
        yield from find_settings(text)


def _exported_path(host: Host, export: Optional[VariableExport]) -> str:
    """Return the absolute path that an exported variable is set to; empty if its line contains no literal path."""
    value = export.setting.value(host.home) if export and export.setting.exported else ""
    return value if value.startswith("/") else ""
