# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which keys have the form of a key of NGC, wandb or Hugging Face, so that nothing else is ever sent to a service.

A key of another service, half a key or a key with a line break must not leave this machine: a service may log
what it refuses. So whoever sends a key wants a `Key`, and `recognised` alone makes one.
"""

from __future__ import annotations

import base64
import re
import secrets
import string
import uuid
from typing import NoReturn

from ...module_utils._core.errors import AccountError
from ...module_utils._core.values import check_secret
from ...module_utils._formats.key_forms import HUGGING_FACE, LEGACY, NGC, TITLES, WANDB, WANDB_OLD, Form, form_of, title
from .._secrets.key_faults import damage_of


class Malformed(Exception):
    """The text has not the form of a key of that service. The words are fixed and never hold the text."""


_RECOGNISER = object()


class Key:
    """A key whose form was checked. It shows its kind and never itself, and cannot be pickled or copied."""

    __slots__ = ("_form", "_value")

    def __init__(self, value: str, form: Form, maker: object = None) -> None:
        if maker is not _RECOGNISER:
            raise TypeError("a Key is made by recognised() alone")
        self._value = value
        self._form = form

    @property
    def value(self) -> str:
        """The key itself, for the one place that sends or writes it."""
        return self._value

    @property
    def service(self) -> str:
        """Whose key it is: ngc, wandb or huggingface."""
        return self._form.service

    @property
    def legacy(self) -> bool:
        """Whether it is an NGC key of the old kind, of which there is one per user."""
        return self._form is LEGACY

    @property
    def rotates(self) -> bool:
        """Whether the old and the new key can both be valid for a while."""
        return self._form.rotates

    @property
    def replaces_at_once(self) -> bool:
        """Whether making the new key ends the old one."""
        return not self._form.rotates

    @property
    def kind(self) -> str:
        """What it is, in words: 'NGC legacy key'."""
        return title(self._form)

    def __repr__(self) -> str:
        return f"<Key: {self.kind}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Key is not written anywhere: pass its name")


def recognised(value: object, service: str) -> Key:
    """The key, if it has a form of that service's keys. Raises Malformed, with what to do about it."""
    try:
        check_secret(value)
    except AccountError as error:
        raise Malformed(str(error)) from None
    text = str(value)
    form = form_of(text)
    if form is None or form.service != service:
        raise Malformed(_why(text, service, form))
    return Key(text, form, _RECOGNISER)


def stranger(key: Key) -> Key:
    """A random key of the same form, which nobody was ever given: what a service says to it is the control."""
    form = key._form
    if form is LEGACY:
        client = _random(26, string.ascii_lowercase + string.digits)
        text = base64.b64encode(f"{client}:{uuid.uuid4()}".encode()).decode()
    elif form is WANDB_OLD:
        text = secrets.token_hex(20)
    else:
        text = form.beginning + _random(len(key.value) - len(form.beginning), string.ascii_letters + string.digits)
    return Key(text, form, _RECOGNISER)


def _random(length: int, alphabet: str) -> str:
    return "".join(secrets.choice(alphabet) for _letter in range(length))


def _why(text: str, service: str, form: Form | None) -> str:
    """What is wrong with it, in fixed words."""
    if form is not None:
        return f"this is a key of {TITLES[form.service]}, not of {TITLES[service]}: store it under its own name"
    if re.search(r"[\"'`]", text):
        return "the key holds a quote: it was copied out of a script; store the plain key"
    damage = damage_of(text)
    if damage:
        return damage
    if service == NGC:
        return (
            "no NGC key looks like this: it begins with nvapi- and has 70 characters, or is a legacy key of 84;"
            " copy it again from https://org.ngc.nvidia.com/setup/api-keys"
        )
    where = {
        WANDB: "it has 40 characters or more; copy it again from https://wandb.ai/authorize",
        HUGGING_FACE: "it begins with hf_; copy it again from https://huggingface.co/settings/tokens",
    }
    return f"no key of {TITLES[service]} looks like this: {where[service]}"
