# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A key that is replaced in all places of one file, and tested; if anything fails, the file is restored."""

from typing import Any, Dict, List, Optional, Tuple, Type

from .._core.errors import AccountError
from .._core.host import Host
from .._core.resource import Evidence, Resource, State, reconcile
from .._core.undo_log import UndoableHost
from .._options.key_options import PASSWORD
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
    """Replace the key in one file, wherever the file holds one, and test it.

    Puts the key in all places of one file that hold a key, reads it back as its reader does, and asks the registry
    whether it accepts the key from here. A place that holds no key stays without one. If anything fails, the file gets
    its exact old bytes and mode back.

    If the login node cannot reach the registry, the answer is unknown. That is reported, and is no
    failure.

    Options:
        path: The file.
        places: The places in the file, each a C(kind) (M(hpc.onboard.enroot_credential),
            M(hpc.onboard.registry_auth), M(hpc.onboard.netrc_entry), M(hpc.onboard.token_file),
            M(hpc.onboard.ngc_config)) and its options.
        password: The key.
        registry: The registry to ask, with C(address), C(repository), C(realms) (hosts that may receive the key) and
            C(ca) (certificates in PEM, if the system's are not enough). If empty, no registry is asked.
        known: Fingerprints of the keys that may be replaced, as outcomes show them. A file with another key stays as
            it is. Without it, any key is replaced.

    Example: Replace my NGC key where enroot reads it
        path: ~/enroot/.credentials
        places:
          - {kind: enroot_credential, machine: nvcr.io}
          - {kind: enroot_credential, machine: authn.nvidia.com}
        password: "{{ ngc_key }}"
    """

    # A place without a key stays without one: only onboarding creates entries, and records them.

    KIND = "rotated_key"
    OPTIONS: Dict[str, Dict[str, Any]] = {
        "path": {"type": "path", "required": True},
        "places": {"type": "list", "elements": "dict", "required": True},
        "password": PASSWORD,
        "registry": {"type": "dict", "default": {}},
        "known": {"type": "list", "elements": "str"},
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
                raise AccountError("places: %r is not a resource type with a key" % (place.get("kind"),))
            given = {name: value for name, value in place.items() if name != "kind"}
            whole = kind.whole(given)
            whole.update(path=self.options["path"], password=self.options["password"], state="present")
            parts.append(kind(whole))
        return parts

    def touches(self, host: Host) -> List[str]:
        return [self.options["path"]]

    # -- states --------------------------------------------------------------------------------

    def desired(self, host: Host) -> State:
        return _merge_states([(part, part.desired(host)) for part in self._held(host)])

    def inspect(self, host: Host) -> State:
        return _merge_states([(part, part.inspect(host)) for part in self._held(host)])

    def _held(self, host: Host) -> List[KeptKey]:
        """Return the places with a key. A place that cannot be read may have one."""
        return [part for part in self._parts if not _is_without_key(part, host)]

    def obstacle(self, before: State, host: Host) -> Optional[str]:
        for part in self._held(host):
            problem = part.obstacle(part.inspect(host), host)
            if problem:
                return problem
        if self._unknown(host):
            return "%s holds a key that hpc-onboard does not know: it stays" % host.shown(self.options["path"])
        return None

    def _unknown(self, host: Host) -> str:
        """Return the fingerprint of a key that must not be replaced, or ""."""
        if self.options.get("known") is None:
            return ""
        may_go = set(self.options["known"]) | {host.fingerprint(self.options["password"])}
        shown = (one for part in self._held(host) for one in _fingerprints(part, host))
        return next((one for one in shown if one not in may_go), "")

    def fields_to_tighten(self, host: Host) -> State:
        """Return the modes of file and folder that are not yet private."""
        return self._held(host)[0].fields_to_tighten(host) if self._held(host) else {}

    def remarks(self, host: Host) -> List[str]:
        """Return the registry's verdict on the key in the file, if it was tested."""
        if not self._is_tested(host):
            return []
        verdict = self._test_once(host)
        return ["as its reader finds it: %s (%s)" % (verdict.word, verdict.why)]

    def evidence(self, before: State, host: Host) -> Evidence:
        if not self._held(host):
            return {"held": "none"}
        unknown = self._unknown(host)
        if unknown:
            return {"held": unknown}
        return {"verdict": self._test_once(host).word} if self._is_tested(host) else {}

    def _is_tested(self, host: Host) -> bool:
        return bool(self.options["registry"] and self._held(host)) and self._in_place(host)

    def _in_place(self, host: Host) -> bool:
        return self.inspect(host) == self.desired(host)

    _verdict: Optional[token_check.RegistryVerdict] = None

    def _test_once(self, host: Host) -> token_check.RegistryVerdict:
        """Return the verdict on the key in the file; the registry is asked once."""
        if self._verdict is None:
            self._verdict = self._ask_registry(host)
        return self._verdict

    def _ask_registry(self, host: Host) -> token_check.RegistryVerdict:
        """Return the registry's verdict on the first place's key, read as its reader reads it."""
        part = self._held(host)[0]
        found = part.find(text_of(host, self.options["path"]))
        if found is None:
            return token_check.RegistryVerdict(token_check.NOT_MEASURED, "its reader finds no key there")
        return token_check.check_key(self.options["registry"], part.options["login"], found.passwords[0])

    # -- changes -------------------------------------------------------------------------------

    def apply(self, host: Host) -> None:
        kept = UndoableHost(host)
        try:
            for part in self._held(host):
                part.prepare(kept)
                reconcile(part, kept)
            self._prove(host)
        except AccountError as error:
            problems = kept.undo()
            if problems:
                raise AccountError("%s; and it could not be put back: %s" % (error, "; ".join(problems))) from None
            raise AccountError("%s; the file is as it was" % error) from None

    def _prove(self, host: Host) -> None:
        """Raise AccountError if the registry refuses the key in the file. No answer is no refusal."""
        if self.options["registry"]:
            verdict = self._test_once(host)
            if verdict.word in (token_check.REFUSED, token_check.NOT_ENTITLED):
                raise AccountError("the registry refuses the key from here (%s): %s" % (verdict.word, verdict.why))


def _merge_states(states: List[Tuple[KeptKey, State]]) -> State:
    """Return one state of all places. If there are several, each field is named for its place."""
    if len(states) == 1:
        return states[0][1]
    named = [(str(part.options.get("machine") or part.options.get("registry")), state) for part, state in states]
    return {"%s %s" % (name, field): value for name, state in named for field, value in state.items()}


def _is_without_key(part: KeptKey, host: Host) -> bool:
    """Return True where nothing at a place is a key: no file, or a readable one without an entry."""
    found = part.inspect(host)
    if "password" in found or "is" in found:
        return False
    return host.entry(part.path) is None or not part.unreadable(text_of(host, part.path), "")


def _fingerprints(part: KeptKey, host: Host) -> List[str]:
    """Return the fingerprints of all keys of an entry."""
    if "is" in part.inspect(host):
        return []  # not a regular file: it is not read, and obstacle() reports it
    found = part.find(text_of(host, part.path))
    return [host.fingerprint(one) for one in found.passwords] if found else []
