# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The key for one registry, in the file that enroot reads."""

import os
from typing import List, Optional

from .._core.errors import AccountError
from .._core.host import Host
from .._core.resource import Resource, State
from .._core.values import WORD, check_path, check_secret
from .._text import enroot


class EnrootCredential(Resource):
    """One line for a machine and login, in a file that only its owner can read. Other lines stay as they are."""

    KIND = "enroot_credential"
    OPTIONS = {
        "path": {"type": "path", "default": "~/.config/enroot/.credentials"},
        "machine": {"type": "str", "required": True},
        "login": {"type": "str", "default": "$oauthtoken"},
        "password": {"type": "str", "no_log": True},
        "state": {"type": "str", "default": "present", "choices": ["present", "absent"]},
    }

    def name(self) -> str:
        return "credentials %s: %s" % (self.options["path"], self.options["machine"])

    def check(self) -> None:
        check_path("path", self.options["path"])
        if not WORD.match(self.options["machine"]):
            raise AccountError("machine: %r is not a host name" % (self.options["machine"],))
        if self.options["login"] != "$oauthtoken" and not WORD.match(self.options["login"].replace("@", "-")):
            raise AccountError("login: %r is not a plain name, nor $oauthtoken" % (self.options["login"],))
        if self.options["state"] == "present":
            check_secret(self.options.get("password"))

    def touches(self, host: Host) -> List[str]:
        return [self.options["path"]]

    def desired(self, host: Host) -> State:
        if self.options["state"] == "absent":
            return {}
        return {
            "password": host.fingerprint(self.options["password"]),
            "lines": "1",
            "form": "as enroot reads it",
            "order": "foremost",
            "mode": "0600",
            "folder mode": self._folder_mode(host),
        }

    def _folder_mode(self, host: Host) -> str:
        """A home keeps its mode; any other folder of a key is for its owner alone."""
        folder = os.path.dirname(self.options["path"])
        found = host.entry(folder)
        return "%04o" % (found.mode if found and folder == host.home else 0o700)

    def inspect(self, host: Host) -> State:
        path = self.options["path"]
        file = host.entry(path)
        if file is None:
            return {}
        if file.kind != "file":
            return {"is": file.kind}
        found = enroot.find(self._text(host), self.options["machine"], self.options["login"])
        if found is None:
            return {}
        folder = host.entry(os.path.dirname(path))
        return {
            "password": host.fingerprint(found.passwords[0]),
            "lines": str(len(found.passwords)),
            "form": "as enroot reads it" if found.well_formed else "not as enroot reads it",
            "order": "foremost" if found.foremost else "behind another entry",
            "mode": "%04o%s" % (file.mode, " and an access list" if host.has_acl(path) else ""),
            "folder mode": "%04o" % (folder.mode if folder else 0),
        }

    def _text(self, host: Host) -> str:
        return host.read(self.options["path"]).decode("latin-1")

    def obstacle(self, before: State, host: Host) -> Optional[str]:
        path = self.options["path"]
        shown = host.shown(path)
        unsafe = self._unsafe(host, os.path.dirname(path))
        if unsafe:
            return unsafe
        file = host.entry(path)
        if file is None:
            return None
        if file.kind != "file":
            return "%s is a %s: a key is kept in a plain file only; move it away, then run again" % (
                shown,
                file.kind,
            )
        if not file.mine:
            return "%s belongs to somebody else" % shown
        if file.links != 1:
            return "%s has %d names (hard links): remove the others, then run again" % (shown, file.links)
        return self._in_the_text(shown, self._text(host))

    def _unsafe(self, host: Host, folder: str) -> Optional[str]:
        """Why no key may lie here. A folder of mine that is too open is put right, those above it are not."""
        if folder == host.home:
            return host.unsafe_folder(folder)
        found = host.entry(folder)
        if found and (found.kind != "folder" or not found.mine):
            return "%s is a %s%s; a key is kept in a plain folder of yours only" % (
                host.shown(folder),
                found.kind,
                "" if found.mine else " of somebody else",
            )
        return host.unsafe_folder(os.path.dirname(folder))

    def _in_the_text(self, shown: str, text: str) -> Optional[str]:
        unreadable = enroot.unreadable(text, self.options["machine"])
        if unreadable:
            return "%s: %s" % (shown, unreadable)
        found = enroot.find(text, self.options["machine"], self.options["login"])
        if found and any(password.startswith("$") for password in found.passwords):
            return "%s takes the password for %s from a command or variable, which is yours: delete that line" % (
                shown,
                self.options["machine"],
            )
        return None

    def apply(self, host: Host) -> None:
        path, machine, login = self.options["path"], self.options["machine"], self.options["login"]
        if self.options["state"] == "absent":
            self._take_out(host)
            return
        folder = os.path.dirname(path)
        host.make_folders(folder, 0o700)
        found = host.entry(folder)
        if folder != host.home and found and found.mode != 0o700:
            host.set_mode(folder, 0o700)
        old = host.read(path) if host.entry(path) else None
        new = enroot.put((old or b"").decode("latin-1"), machine, login, self.options["password"])
        if enroot.find(new, machine, login) != enroot.Found([self.options["password"]], True, True):
            raise AccountError("%s cannot be written so that enroot reads it: is it damaged?" % host.shown(path))
        host.write(path, old, new.encode("latin-1"), 0o600, private=True)

    def _take_out(self, host: Host) -> None:
        path = self.options["path"]
        old = host.read(path)
        left = enroot.without(old.decode("latin-1"), self.options["machine"], self.options["login"])
        if left:
            host.write(path, old, left.encode("latin-1"), 0o600, private=True)
        else:
            host.remove(path)
