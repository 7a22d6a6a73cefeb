# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The key for NVIDIA's registry: find the clusters that need it, and store it in the keyring.

A profile contains the facts about a cluster. The backend is the program that keeps the keys, such as the keyring of the
desktop, or hpc-onboard's own encrypted file.
"""

from __future__ import annotations

from collections.abc import Iterable

from .._accounts.profiles import Profile
from .._secrets import backends
from .._secrets.file_errors import StoreError

NAME = "ngc"  # of the key


def clusters_with_key(profiles: Iterable[Profile]) -> list[str]:
    """Return the names of the clusters that need the key, because their container tool enroot reads it from a file."""
    return [str(profile["id"]) for profile in profiles if profile.get("container", {}).get("credentials")]


def key_page(profiles: Iterable[Profile]) -> str:
    """Return the URL of the web page to create the key, from the first profile with such a URL; else ""."""
    # steps that only the user can do; secret: the key that a step creates
    steps = (step for profile in profiles for step in profile.get("human_steps", ()) if step.get("secret") == NAME)
    return next((str(step["url"]) for step in steps if "url" in step), "")


def is_key_missing() -> bool:
    """Return True if the keyring lacks the key."""
    try:
        backend, _warnings = backends.choose_backend()
        if backends.is_own(backend):  # reading the key would ask for the passphrase of hpc-onboard's own keyring
            return not backend.path.exists()  # an existing file probably contains the key
        return not backends.read_password(backend, NAME)
    except backends.MissingKey as error:
        return error.absent  # False if the keyring could not be read, so that the key may exist


def store_key(key: str) -> str:
    """Store the key in the keyring, which may ask for a passphrase. Return the error; empty if the key is stored."""
    try:
        backend, _warnings = backends.choose_backend()
        backend.set_password(backends.SERVICE, NAME, key)
    except (backends.MissingKey, StoreError) as error:
        return str(error)
    except Exception as error:  # backends may raise any error, with any text, even with the key
        return f"the keyring failed ({type(error).__name__})"
    return ""
