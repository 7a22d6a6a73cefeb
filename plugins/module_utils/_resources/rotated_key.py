# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A key that is replaced in all places of one file and then tested. If a step fails, the file is restored.

A run compares inspect() with desired(). If they differ and obstacle() returns None, the run calls apply(). remarks()
returns notes for the user, and evidence() returns observations for programs. before is the state from inspect(). A
Host reads and changes the account's files.
"""

from typing import Any, Dict, List, Optional, Tuple, Type

from .._core.errors import AccountError
from .._core.host import Host
from .._core.resource import Evidence, Resource, State, reconcile
from .._core.undo_log import UndoableHost
from .._options.key_options import PASSWORD
from .._registry import token_check
from .enroot_credential import EnrootCredential
from .kept_key import KeptKey, read_latin1
from .netrc_entry import NetrcEntry
from .ngc_config import NgcConfig
from .registry_auth import RegistryAuth
from .token_file import TokenFile

PLACES: Dict[str, Type[KeptKey]] = {
    resource_type.KIND: resource_type
    for resource_type in (EnrootCredential, NetrcEntry, NgcConfig, RegistryAuth, TokenFile)
}


class RotatedKey(Resource):
    """Replace the key in every place of one file, and test it.

    Writes the key to each place of one file that already contains a key, reads the key back as programs do, and asks
    the registry whether it accepts the key from the account. A place without a key stays without one. If a step fails,
    the task restores the exact old bytes and mode of the file.

    If the login node cannot reach the registry, it is unknown whether the registry accepts the key. The task reports
    this, but does not fail.

    Options:
        path: The path of the file.
        places: The places in the file. Each place has a C(kind), which is the name of a module
            (M(hpc.onboard.enroot_credential), M(hpc.onboard.registry_auth), M(hpc.onboard.netrc_entry),
            M(hpc.onboard.token_file) or M(hpc.onboard.ngc_config)), and the options of that module.
        password: The key.
        registry: The registry to ask, with C(address), C(repository), C(realms) (hosts that may receive the key) and
            C(ca) (certificates in PEM, if the system's are not enough). If empty, the task asks no registry.
        known: Fingerprints of the keys that may be replaced, as outcomes show them. If the file contains any other
            key, the task does not change the file. If this option is not set, the task replaces any key.

    Example: Replace my NGC key where enroot reads it
        path: ~/enroot/.credentials
        places:
          - {kind: enroot_credential, machine: nvcr.io}
          - {kind: enroot_credential, machine: authn.nvidia.com}
        password: "{{ ngc_key }}"
    """

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
        """Raise AccountError if a place is in another file or has an unknown type."""
        for part in self._parts:
            if part.options["path"] != self.options["path"]:
                raise AccountError("places: %s is not in the file %s" % (part.identity, self.options["path"]))

    @property
    def _parts(self) -> List[KeptKey]:
        """Return a resource for each place, with the new key. Raise AccountError for a place of an unknown type."""
        parts = []
        for place in self.options["places"]:
            resource_type = PLACES.get(str(place.get("kind")))
            if resource_type is None:
                raise AccountError("places: unknown type %r; available: %s" % (place.get("kind"), ", ".join(PLACES)))
            options = resource_type.with_defaults({name: value for name, value in place.items() if name != "kind"})
            options.update(path=self.options["path"], password=self.options["password"], state="present")
            parts.append(resource_type(options))
        return parts

    def touches(self, host: Host) -> List[str]:
        """Return the only path that this resource depends on."""
        return [self.options["path"]]

    # -- states --------------------------------------------------------------------------------

    def desired(self, host: Host) -> State:
        """Return the desired state of all places that have a key."""
        return _merge_states([(part, part.desired(host)) for part in self._parts_with_key(host)])

    def inspect(self, host: Host) -> State:
        """Return the present state of all places that have a key."""
        return _merge_states([(part, part.inspect(host)) for part in self._parts_with_key(host)])

    def _parts_with_key(self, host: Host) -> List[KeptKey]:
        """Return the places with a key, as resources, and the places that cannot be read, which may have a key.

        A place without a key stays without one, because only onboarding creates entries, and records them.
        """
        return [part for part in self._parts if not _is_without_key(part, host)]

    def obstacle(self, before: State, host: Host) -> Optional[str]:
        """Return why the key must not be replaced, or None. before: not used here."""
        for part in self._parts_with_key(host):
            problem = part.obstacle(part.inspect(host), host)
            if problem:
                return problem
        if self._find_unknown_key(host):
            return "%s contains an unknown key, which was not replaced" % host.shown(self.options["path"])
        return None

    def _find_unknown_key(self, host: Host) -> str:
        """Return the fingerprint of a key that must not be replaced, or ""."""
        if self.options.get("known") is None:  # any key may be replaced
            return ""
        replaceable = {*self.options["known"], host.fingerprint(self.options["password"])}
        for part in self._parts_with_key(host):
            for fingerprint in _list_fingerprints(part, host):
                if fingerprint not in replaceable:
                    return fingerprint
        return ""

    def fields_to_tighten(self, host: Host) -> State:
        """Return the modes of file and folder that are not yet private."""
        parts = self._parts_with_key(host)
        return parts[0].fields_to_tighten(host) if parts else {}  # the file of all parts is the same

    def remarks(self, host: Host) -> List[str]:
        """Return the registry's verdict on the new key, once the file contains the key."""
        if not self._is_testable(host):
            return []
        verdict = self._test_once(host)
        return ["the registry's verdict on the key in the file: %s (%s)" % (verdict.word, verdict.why)]

    def evidence(self, before: State, host: Host) -> Evidence:
        """Return what the file contains: {held: "none"} without a key, {held: fingerprint} for an unknown key.

        For the new key, return {verdict: word of the registry's verdict}, if a registry is asked; else {}. before: not
        used here.
        """
        if not self._parts_with_key(host):
            return {"held": "none"}
        unknown_key = self._find_unknown_key(host)
        if unknown_key:
            return {"held": unknown_key}
        return {"verdict": self._test_once(host).word} if self._is_testable(host) else {}

    def _is_testable(self, host: Host) -> bool:
        """Return True if the file contains the new key, and the options name a registry to ask about the key."""
        has_new_key = self.inspect(host) == self.desired(host)
        return bool(self.options["registry"] and self._parts_with_key(host) and has_new_key)

    _verdict: Optional[token_check.RegistryVerdict] = None

    def _test_once(self, host: Host) -> token_check.RegistryVerdict:
        """Return the verdict on the key in the file; the registry is asked once."""
        if self._verdict is None:
            self._verdict = self._ask_registry(host)
        return self._verdict

    def _ask_registry(self, host: Host) -> token_check.RegistryVerdict:
        """Return the registry's verdict on the first place's key, as programs read it from the file."""
        part = self._parts_with_key(host)[0]
        key_entry = part.find_entry(read_latin1(host, self.options["path"]))
        if key_entry is None:
            return token_check.RegistryVerdict(token_check.UNKNOWN, "programs would not find the key in the file")
        login = part.options.get("login", "$oauthtoken")  # a file without logins contains an NGC key
        return token_check.check_key(self.options["registry"], login, key_entry.passwords[0])

    # -- changes -------------------------------------------------------------------------------

    def apply(self, host: Host) -> None:
        """Replace and test the key in all places. If anything fails, restore the file and raise AccountError."""
        undoable_host = UndoableHost(host)  # records how to undo each change
        try:
            for part in self._parts_with_key(host):
                part.update_program_copy(undoable_host, self.options["password"])
                reconcile(part, undoable_host)  # writes the key in this place
            self._require_accepted_key(host)
        except AccountError as error:
            problems = undoable_host.undo()
            if problems:
                raise AccountError("%s. The file could not be restored: %s" % (error, "; ".join(problems))) from None
            raise AccountError("%s; the file is unchanged" % error) from None

    def _require_accepted_key(self, host: Host) -> None:
        """Raise AccountError if the registry refuses the key in the file. Without an answer, the key is accepted."""
        if self.options["registry"]:
            verdict = self._test_once(host)
            if verdict.word in (token_check.REFUSED, token_check.NOT_ENTITLED):
                raise AccountError("the registry refused the key in a test from this account: %s" % verdict.why)


def _merge_states(states: List[Tuple[KeptKey, State]]) -> State:
    """Return one state of all places. With several places, each field's name begins with the machine or registry.

    states: each place, as a resource, with its state.
    """
    if len(states) == 1:
        return states[0][1]
    merged = {}
    for part, state in states:
        name = part.options.get("machine") or part.options.get("registry")
        merged.update({"%s %s" % (name, field): value for field, value in state.items()})
    return merged


def _is_without_key(part: KeptKey, host: Host) -> bool:
    """Return True if a place has no key: the file is missing, or can be read and has no entry."""
    state = part.inspect(host)
    if "password" in state or "is" in state:
        return False  # "is": not a regular file, whose content is unknown
    return host.entry(part.path) is None or not part.find_problem(read_latin1(host, part.path))


def _list_fingerprints(part: KeptKey, host: Host) -> List[str]:
    """Return the fingerprints of all keys in a place."""
    if "is" in part.inspect(host):
        return []  # not a regular file, which obstacle() reports
    key_entry = part.find_entry(read_latin1(host, part.path))
    return [host.fingerprint(password) for password in key_entry.passwords] if key_entry else []
