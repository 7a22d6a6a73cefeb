# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of files that hold a key. Their docstrings are the modules' documentation (tools/module_pages.py)."""

from typing import Any, Dict

from .._core.errors import AccountError
from .._core.values import STATE, WORD, Options, check_path, check_secret

PASSWORD: Dict[str, Any] = {"type": "str", "no_log": True}
APPTAINER_AUTH_FILE = ".apptainer/docker-config.json"  # below the home


class KeyOptions(Options):
    """The options that all files with a key have in common."""

    def check(self) -> None:
        """Raise AccountError for an invalid path, or for a key that a program would misread."""
        check_path("path", self.options["path"])
        if self.options["state"] == "present":
            check_secret(self.options.get("password"))


class EnrootCredentialOptions(KeyOptions):
    """Keep the key for one registry in the file that enroot reads.

    Keeps exactly one line for a machine and login, where enroot and curl find it first.

    Other lines stay as they are, byte for byte. Only the owner can read the file and its folder.

    The format is not netrc, see U(https://github.com/NVIDIA/enroot/blob/master/doc/cmd/import.md).

    Options:
        path: The file that this site's enroot reads.
        machine: The registry's host name.
        login: The user at the registry. C($oauthtoken) is literal; every NGC key uses it.
        password: The key. White space, control characters and a leading C($), which enroot would run as a command,
            are refused.

    Example: Keep my NGC key where enroot reads it
        path: ~/enroot/.credentials
        machine: nvcr.io
        password: "{{ ngc_key }}"
    """

    KIND = "enroot_credential"
    TITLE = "credentials %(path)s: %(machine)s"
    OPTIONS = {
        "path": {"type": "path", "default": "~/.config/enroot/.credentials"},
        "machine": {"type": "str", "required": True},
        "login": {"type": "str", "default": "$oauthtoken"},
        "password": PASSWORD,
        "state": STATE,
    }

    def check(self) -> None:
        """Raise AccountError also for an invalid machine or login."""
        if not WORD.match(self.options["machine"]):
            raise AccountError("machine: %r is not a valid host name" % (self.options["machine"],))
        check_login(self.options["login"])
        super().check()


class RegistryAuthOptions(KeyOptions):
    """Keep the login for one registry in the file that Apptainer and Docker read.

    Keeps the entry of a registry below C(auths) in Docker's JSON file. Every other byte of the file stays.

    Apptainer reads its own file if it exists, and Docker's only if not. Logins that this hides are reported.

    Nothing is written if a credential helper answers in the file's place.

    Options:
        path: The file. Docker reads C(~/.docker/config.json).
        registry: The registry as its readers look it up, such as C(nvcr.io) or C(https://index.docker.io/v1/).
        login: The user at the registry. C($oauthtoken) is literal; every NGC key uses it.

    Example: Keep my NGC key where Apptainer reads it
        registry: nvcr.io
        password: "{{ ngc_key }}"
    """

    KIND = "registry_auth"
    TITLE = "login %(path)s: %(registry)s"
    OPTIONS = {
        "path": {"type": "path", "default": "~/" + APPTAINER_AUTH_FILE},
        "registry": {"type": "str", "required": True},
        "login": {"type": "str", "default": "$oauthtoken"},
        "password": PASSWORD,
        "state": STATE,
    }

    def check(self) -> None:
        """Raise AccountError also for an invalid registry or login."""
        if not all(WORD.match(part) for part in self.options["registry"].replace("https://", "").strip("/").split("/")):
            raise AccountError(
                "registry: %r is not valid; expected the name of a registry, such as nvcr.io"
                % (self.options["registry"],)
            )
        check_login(self.options["login"])
        super().check()


class NetrcEntryOptions(KeyOptions):
    """Keep the key for one machine in a netrc file.

    Keeps exactly one entry for a machine, in the form that wandb writes. Every other byte of the file stays.

    Not for enroot, whose file only looks like netrc; see M(hpc.onboard.enroot_credential).

    Options:
        path: The file.
        machine: The host name.
        login: The user there; wandb needs C(user).

    Example: Keep my wandb key
        machine: api.wandb.ai
        password: "{{ wandb_key }}"
    """

    KIND = "netrc_entry"
    TITLE = "netrc %(path)s: %(machine)s"
    OPTIONS = {
        "path": {"type": "path", "default": "~/.netrc"},
        "machine": {"type": "str", "required": True},
        "login": {"type": "str", "default": "user"},
        "password": PASSWORD,
        "state": STATE,
    }

    def check(self) -> None:
        """Raise AccountError also for an invalid machine or login."""
        for option in ("machine", "login"):
            if not WORD.match(self.options[option]):
                raise AccountError(
                    "%s: %r is not a valid name; expected letters, digits, '.', '_' and '-'"
                    % (option, self.options[option])
                )
        super().check()


class NgcConfigOptions(KeyOptions):
    """Keep the key of the ngc program.

    Keeps the C(apikey) of the section in use in the settings of the ngc program. Every other byte of the file stays.

    The program keeps its former settings in C(config.BAK). A key in that file is replaced as well.

    Options:
        path: The file.

    Example: Keep my key for the ngc program
        password: "{{ ngc_key }}"
    """

    KIND = "ngc_config"
    TITLE = "ngc %(path)s"
    OPTIONS = {"path": {"type": "path", "default": "~/.ngc/config"}, "password": PASSWORD, "state": STATE}


class TokenFileOptions(KeyOptions):
    """Keep a file that holds one token.

    Keeps a file whose whole content is a token, as Hugging Face's programs do.

    A file that holds more than one word is not changed.

    Options:
        path: The file.

    Example: Keep my Hugging Face token
        password: "{{ hf_token }}"
    """

    KIND = "token_file"
    TITLE = "token %(path)s"
    OPTIONS = {"path": {"type": "path", "default": "~/.cache/huggingface/token"}, "password": PASSWORD, "state": STATE}


def check_login(login: str) -> None:
    """Raise AccountError for a user name that a reader of the file would misread."""
    if login != "$oauthtoken" and not WORD.match(login.replace("@", "-")):
        raise AccountError("login: %r is not valid; expected a user name or $oauthtoken" % (login,))
