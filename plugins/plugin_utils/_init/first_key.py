# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The key for NVIDIA's registry: which clusters need it, whether the keyring has it, and putting it there."""

from __future__ import annotations

from collections.abc import Iterable

from .._accounts.profiles import Profile
from .._secrets import backends
from .._secrets.file_errors import StoreError

NAME = "ngc"


def clusters_with_key(profiles: Iterable[Profile]) -> list[str]:
    """The clusters where an account is not whole without: their enroot reads it from a file."""
    return [str(one["id"]) for one in profiles if one.get("container", {}).get("credentials")]


def key_page(profiles: Iterable[Profile]) -> str:
    """Return where such a key is made, by the first profile that says."""
    steps = (step for one in profiles for step in one.get("human_steps", ()) if step.get("secret") == NAME)
    return next((str(step["url"]) for step in steps if "url" in step), "")


def is_key_missing() -> bool:
    """Return True if the keyring has no such key, as far as it tells without a passphrase."""
    try:
        backend, _warnings = backends.choose_backend()
        if backends.is_own(backend):
            return not backend.path.exists()
        return not backends.read_password(backend, NAME)
    except backends.MissingKey as error:
        return error.absent


def store_key(value: str) -> str:
    """Put the key into the keyring; why it is not there, or nothing. A passphrase may be asked for."""
    try:
        backend, _warnings = backends.choose_backend()
        backend.set_password(backends.SERVICE, NAME, value)
    except (backends.MissingKey, StoreError) as error:
        return str(error)
    except Exception as error:  # a backend raises what it likes, and its words may hold anything
        return f"the keyring did not take it ({type(error).__name__})"
    return ""
