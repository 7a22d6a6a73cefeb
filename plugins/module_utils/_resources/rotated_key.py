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
        """Raise AccountError if a place is in another file."""
        for part in self._parts:
            if part.options["path"] != self.options["path"]:
                raise AccountError("places: %s is not in the file %s" % (part.identity, self.options["path"]))

    @property
    def _parts(self) -> List[KeptKey]:
        """Return a resource for each place, with the new key. Raise AccountError for an unknown type."""
        parts = []
        for place in self.options["places"]:
            kind = PLACES.get(str(place.get("kind")))
            if kind is None:
                raise AccountError("places: unknown type %r; available: %s" % (place.get("kind"), ", ".join(PLACES)))
            given = {name: value for name, value in place.items() if name != "kind"}
            whole = kind.with_defaults(given)
            whole.update(path=self.options["path"], password=self.options["password"], state="present")
            parts.append(kind(whole))
        return parts

    def touches(self, host: Host) -> List[str]:
        return [self.options["path"]]

    # -- states --------------------------------------------------------------------------------

    def desired(self, host: Host) -> State:
        """Return the desired state of all places that have a key."""
        return _merge_states([(part, part.desired(host)) for part in self._parts_with_key(host)])

    def inspect(self, host: Host) -> State:
        """Return the present state of all places that have a key."""
        return _merge_states([(part, part.inspect(host)) for part in self._parts_with_key(host)])

    def _parts_with_key(self, host: Host) -> List[KeptKey]:
        """Return the places with a key. A place that cannot be read may have one."""
        return [part for part in self._parts if not _is_without_key(part, host)]

    def obstacle(self, before: State, host: Host) -> Optional[str]:
        """Return why the key must not be replaced, or None."""
        for part in self._parts_with_key(host):
            problem = part.obstacle(part.inspect(host), host)
            if problem:
                return problem
        if self._find_unknown_key(host):
            return "%s contains a key that hpc-onboard does not know. The key was not replaced" % host.shown(
                self.options["path"]
            )
        return None

    def _find_unknown_key(self, host: Host) -> str:
        """Return the fingerprint of a key that must not be replaced, or ""."""
        if self.options.get("known") is None:
            return ""
        may_go = set(self.options["known"]) | {host.fingerprint(self.options["password"])}
        shown = (one for part in self._parts_with_key(host) for one in _fingerprints(part, host))
        return next((one for one in shown if one not in may_go), "")

    def fields_to_tighten(self, host: Host) -> State:
        """Return the modes of file and folder that are not yet private."""
        return self._parts_with_key(host)[0].fields_to_tighten(host) if self._parts_with_key(host) else {}

    def remarks(self, host: Host) -> List[str]:
        """Return the registry's verdict on the key in the file, if it was tested."""
        if not self._is_tested(host):
            return []
        verdict = self._test_once(host)
        return ["result for the key in the file: %s (%s)" % (verdict.word, verdict.why)]

    def evidence(self, before: State, host: Host) -> Evidence:
        """Return which unknown key is in the file, or the registry's verdict on the new one."""
        if not self._parts_with_key(host):
            return {"held": "none"}
        unknown = self._find_unknown_key(host)
        if unknown:
            return {"held": unknown}
        return {"verdict": self._test_once(host).word} if self._is_tested(host) else {}

    def _is_tested(self, host: Host) -> bool:
        """Return True if the new key is in the file and a registry is to be asked about it."""
        return bool(self.options["registry"] and self._parts_with_key(host)) and self._has_new_key(host)

    def _has_new_key(self, host: Host) -> bool:
        """Return True if all places have the new key."""
        return self.inspect(host) == self.desired(host)

    _verdict: Optional[token_check.RegistryVerdict] = None

    def _test_once(self, host: Host) -> token_check.RegistryVerdict:
        """Return the verdict on the key in the file; the registry is asked once."""
        if self._verdict is None:
            self._verdict = self._ask_registry(host)
        return self._verdict

    def _ask_registry(self, host: Host) -> token_check.RegistryVerdict:
        """Return the registry's verdict on the first place's key, read as its reader reads it."""
        part = self._parts_with_key(host)[0]
        found = part.find(text_of(host, self.options["path"]))
        if found is None:
            return token_check.RegistryVerdict(token_check.NOT_MEASURED, "its programs find no key in the file")
        return token_check.check_key(self.options["registry"], part.options["login"], found.passwords[0])

    # -- changes -------------------------------------------------------------------------------

    def apply(self, host: Host) -> None:
        """Replace the key in all places and test it. If anything fails, restore the file and raise AccountError."""
        kept = UndoableHost(host)
        try:
            for part in self._parts_with_key(host):
                part.prepare(kept)
                reconcile(part, kept)
            self._require_accepted_key(host)
        except AccountError as error:
            problems = kept.undo()
            if problems:
                raise AccountError(
                    "%s; and the file could not be restored: %s" % (error, "; ".join(problems))
                ) from None
            raise AccountError("%s; the file is unchanged" % error) from None

    def _require_accepted_key(self, host: Host) -> None:
        """Raise AccountError if the registry refuses the key in the file. No answer is no refusal."""
        if self.options["registry"]:
            verdict = self._test_once(host)
            if verdict.word in (token_check.REFUSED, token_check.NOT_ENTITLED):
                raise AccountError(
                    "the registry refuses the key from this account (%s): %s" % (verdict.word, verdict.why)
                )


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
