# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A key that is replaced in one file, at all its places there, and tried; or the file is as it was."""

from typing import Any, Dict, List, Optional, Type

from .._core.errors import AccountError
from .._core.host import Host
from .._core.resource import Evidence, Resource, State, reconcile
from .._core.undo_log import Remembering
from .._core.values import PASSWORD
from .._registry import token_check
from .enroot_credential import EnrootCredential
from .kept_key import KeptKey, text_of
from .netrc_entry import NetrcEntry
from .ngc_config import NgcConfig
from .registry_auth import RegistryAuth
from .token_file import TokenFile

PLACES: Dict[str, Type[KeptKey]] = {
    kind.KIND: kind for kind in (EnrootCredential, NetrcEntry, NgcConfig, RegistryAuth, TokenFile)
}


class RotatedKey(Resource):
    """All places of one file hold the key, and the registry takes it as it stands there."""

    KIND = "rotated_key"
    OPTIONS: Dict[str, Dict[str, Any]] = {
        "path": {"type": "path", "required": True},
        "places": {"type": "list", "elements": "dict", "required": True},
        "password": PASSWORD,
        "registry": {"type": "dict", "default": {}},
    }

    def name(self) -> str:
        return "key in %s" % self.options["path"]

    def check(self) -> None:
        for part in self._parts:
            if part.options["path"] != self.options["path"]:
                raise AccountError("places: %s is in another file than %s" % (part.identity, self.options["path"]))

    @property
    def _parts(self) -> List[KeptKey]:
        parts = []
        for place in self.options["places"]:
            kind = PLACES.get(str(place.get("kind")))
            if kind is None:
                raise AccountError("places: %r is no kind of key" % (place.get("kind"),))
            given = {name: value for name, value in place.items() if name != "kind"}
            whole = kind.whole(given)
            whole.update(path=self.options["path"], password=self.options["password"], state="present")
            parts.append(kind(whole))
        return parts

    def touches(self, host: Host) -> List[str]:
        return [self.options["path"]]

    # -- states --------------------------------------------------------------------------------

    def desired(self, host: Host) -> State:
        return self._merged([part.desired(host) for part in self._parts])

    def inspect(self, host: Host) -> State:
        return self._merged([part.inspect(host) for part in self._parts])

    def _merged(self, states: List[State]) -> State:
        """One state of all; a field is named for its place where there are several."""
        if len(states) == 1:
            return states[0]
        names = [str(place.get("machine") or place.get("registry")) for place in self.options["places"]]
        return {"%s %s" % (name, field): value for name, state in zip(names, states) for field, value in state.items()}

    def obstacle(self, before: State, host: Host) -> Optional[str]:
        for part in self._parts:
            problem = part.obstacle(part.inspect(host), host)
            if problem:
                return problem
        return None

    def remarks(self, host: Host) -> List[str]:
        """What the registry says of the key in the file, where it was tried."""
        if not self._is_tried(host):
            return []
        verdict = self._tried(host)
        return ["as its reader finds it: %s (%s)" % (verdict.word, verdict.why)]

    def evidence(self, before: State, host: Host) -> Evidence:
        return {"verdict": self._tried(host).word} if self._is_tried(host) else {}

    def _is_tried(self, host: Host) -> bool:
        return bool(self.options["registry"]) and self._in_place(host)

    def _in_place(self, host: Host) -> bool:
        return self.inspect(host) == self.desired(host)

    _verdict: Optional[token_check.Verdict] = None

    def _tried(self, host: Host) -> token_check.Verdict:
        """The verdict on the key in the file, asked for once."""
        if self._verdict is None:
            self._verdict = self._asked(host)
        return self._verdict

    def _asked(self, host: Host) -> token_check.Verdict:
        """What the registry says of the key of the first place, read as its reader reads it."""
        part = self._parts[0]
        found = part.find(text_of(host, self.options["path"]))
        if found is None:
            return token_check.Verdict(token_check.NOT_MEASURED, "its reader finds no key there")
        return token_check.verdict(self.options["registry"], part.options["login"], found.passwords[0])

    # -- changes -------------------------------------------------------------------------------

    def apply(self, host: Host) -> None:
        kept = Remembering(host)
        try:
            for part in self._parts:
                part.prepare(kept)
                reconcile(part, kept)
            self._prove(host)
        except AccountError as error:
            problems = kept.take_back()
            if problems:
                raise AccountError("%s; and it could not be put back: %s" % (error, "; ".join(problems))) from None
            raise AccountError("%s; the file is as it was" % error) from None

    def _prove(self, host: Host) -> None:
        """Raise when the registry refuses the key as it stands in the file; what cannot be measured is no refusal."""
        if self.options["registry"]:
            verdict = self._tried(host)
            if verdict.word in (token_check.REFUSED, token_check.NOT_ENTITLED):
                raise AccountError("the registry refuses the key from here (%s): %s" % (verdict.word, verdict.why))
