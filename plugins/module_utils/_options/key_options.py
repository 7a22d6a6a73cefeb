# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of files that contain a key. The docstrings are the modules' documentation (tools/module_pages.py).

KIND is the resource type, TITLE the name of a resource, and OPTIONS the spec of its options. check() is called for each
resource before its options are sent to an account. self.options: these options, with defaults for missing ones. The
first argument of check_path() and similar functions is the name of the option in the error message.
"""

from typing import Any, Dict

from .._core.errors import AccountError
from .._core.values import STATE, WORD, Options, check_path, check_secret

PASSWORD: Dict[str, Any] = {"type": "str", "no_log": True}
APPTAINER_AUTH_FILE = ".apptainer/docker-config.json"  # below the home


class KeyOptions(Options):
    """The options that all files with a key have."""

    def check(self) -> None:
        """Raise AccountError for an invalid path, or for a key that a program would misread."""
        check_path("path", self.options["path"])
        if self.options["state"] == "present":
            check_secret(self.options.get("password"))


class EnrootCredentialOptions(KeyOptions):
    """Keep the key for one registry in the file that enroot reads.

    Keeps exactly one line for a machine and login, in the position where enroot and curl find it first.

    The other lines stay unchanged, byte for byte. Only the owner can read the file and its folder.

    The format is not netrc; see U(https://github.com/NVIDIA/enroot/blob/master/doc/cmd/import.md).

    Options:
        path: The file that this site's enroot reads.
        machine: The registry's host name.
        login: The user name at the registry. C($oauthtoken) is literal; every NGC key uses it.
        password: The key. A key with white space, control characters or a leading C($), which enroot would run as a
            command, is refused.

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
        """Raise AccountError for an invalid machine, login, path or key."""
        if not WORD.match(self.options["machine"]):
            raise AccountError("machine: %r is not a valid host name" % (self.options["machine"],))
        check_login(self.options["login"])
        super().check()


class RegistryAuthOptions(KeyOptions):
    """Keep the login for one registry in the file that Apptainer and Docker read.

    Keeps the entry for one registry under C(auths) in Docker's JSON file. Every other byte of the file stays.

    Apptainer reads Docker's file only if its own file does not exist. Logins that Apptainer no longer finds are
    reported.

    Nothing is written if programs get the login from a credential helper instead of the file.

    Options:
        path: The file. Docker reads C(~/.docker/config.json).
        registry: The name under which programs look up the registry, such as C(nvcr.io) or
            C(https://index.docker.io/v1/).
        login: The user name at the registry. C($oauthtoken) is literal; every NGC key uses it.

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
        """Raise AccountError for an invalid registry, login, path or key."""
        parts = self.options["registry"].replace("https://", "").strip("/").split("/")
        if not all(WORD.match(part) for part in parts):
            raise AccountError(
                "registry: %r is not valid; expected a registry name, such as nvcr.io" % (self.options["registry"],)
            )
        check_login(self.options["login"])
        super().check()


class NetrcEntryOptions(KeyOptions):
    """Keep the key for one machine in a netrc file.

    Keeps exactly one entry for a machine, in the format that wandb writes. Every other byte of the file stays.

    Not for enroot, whose file only looks like netrc; use M(hpc.onboard.enroot_credential).

    Options:
        path: The file.
        machine: The host name.
        login: The user name on this host; wandb needs C(user).

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
        """Raise AccountError for an invalid machine, login, path or key."""
        for option in ("machine", "login"):
            if not WORD.match(self.options[option]):
                raise AccountError(
                    "%s: %r is not a valid name; expected letters, digits, '.', '_' and '-'"
                    % (option, self.options[option])
                )
        super().check()


class NgcConfigOptions(KeyOptions):
    """Keep the key of the ngc program.

    Keeps the C(apikey) in the current section of the ngc program's settings. Every other byte of the file stays.

    The program keeps its former settings in C(config.BAK). A key in that file is replaced, too.

    Options:
        path: The path of the file.

    Example: Keep my key for the ngc program
        password: "{{ ngc_key }}"
    """

    KIND = "ngc_config"
    TITLE = "ngc %(path)s"
    OPTIONS = {"path": {"type": "path", "default": "~/.ngc/config"}, "password": PASSWORD, "state": STATE}


class TokenFileOptions(KeyOptions):
    """Keep a file that contains one token.

    Keeps a file whose whole content is a token, as the programs of Hugging Face do.

    A file that contains more than one word is not changed.

    Options:
        path: The path of the file.

    Example: Keep my Hugging Face token
        password: "{{ hf_token }}"
    """

    KIND = "token_file"
    TITLE = "token %(path)s"
    OPTIONS = {"path": {"type": "path", "default": "~/.cache/huggingface/token"}, "password": PASSWORD, "state": STATE}


def check_login(login: str) -> None:
    """Raise AccountError for a login, the user name at a registry, that programs would misread in a key file."""
    if login != "$oauthtoken" and not WORD.match(login.replace("@", "-")):
        raise AccountError("login: %r is not valid; expected a user name or $oauthtoken" % (login,))
