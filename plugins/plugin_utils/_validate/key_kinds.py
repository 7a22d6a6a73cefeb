# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Check that a text has the form of a key of NGC, wandb or Hugging Face before it is sent to the service.

A key of another service, an incomplete key or a key with a line break must not leave this machine: a service may log
what it refuses. Only a `CheckedKey` can be sent, and `check_key` returns one.
"""

from __future__ import annotations

import base64
import re
import secrets
import string
import uuid
from dataclasses import dataclass, field
from typing import NoReturn

from ...module_utils._core.errors import AccountError
from ...module_utils._core.values import check_secret
from ...module_utils._formats.key_forms import (
    HUGGING_FACE,
    LEGACY,
    NGC,
    TITLES,
    WANDB,
    WANDB_OLD,
    Form,
    find_form,
    title,
)
from .._secrets.key_faults import find_damage

KEY_PAGES = {  # where the user creates and deactivates keys
    NGC: "https://org.ngc.nvidia.com/setup/api-keys",
    WANDB: "https://wandb.ai/authorize",
    HUGGING_FACE: "https://huggingface.co/settings/tokens",
}
_EXPECTED = {
    NGC: "an NGC key begins with nvapi- and has 70 characters; a legacy key has 84",
    WANDB: "a wandb key has at least 40 characters",
    HUGGING_FACE: "a Hugging Face token begins with hf_",
}


class MalformedKey(Exception):
    """The text does not have the form of the service's keys. The message never contains the text."""


@dataclass(frozen=True, repr=False)
class CheckedKey:
    """A key whose form was checked. repr() shows only its kind; the key cannot be pickled or copied."""

    value: str = field(repr=False)
    form: Form

    def __post_init__(self) -> None:
        """Raise ValueError if the text does not have this form, so that no unchecked text becomes a key."""
        if find_form(self.value) is not self.form:
            raise ValueError("the text does not have the format of this key type")

    @property
    def service(self) -> str:
        """Return the service that issued the key: ngc, wandb or huggingface."""
        return self.form.service

    @property
    def is_legacy(self) -> bool:
        """Return True for an NGC legacy key. Each user has only one, and a new one revokes it."""
        return self.form is LEGACY

    @property
    def kind(self) -> str:
        """Return the kind of key for messages: 'NGC legacy key'."""
        return title(self.form)

    def __repr__(self) -> str:
        return f"<CheckedKey: {self.kind}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a key cannot be pickled or copied: pass its name")


def check_key(value: object, service: str) -> CheckedKey:
    """Return the key if it has a form of that service's keys, else raise MalformedKey with what to do."""
    try:
        check_secret(value)
    except AccountError as error:
        raise MalformedKey(str(error)) from None
    text = str(value)
    form = find_form(text)
    if form is None or form.service != service:
        raise MalformedKey(_explain_malformed(text, service, form))
    return CheckedKey(text, form)


def random_key_like(key: CheckedKey) -> CheckedKey:
    """Return a random key of the same form. A service must refuse it, or its response to a real key proves nothing."""
    if key.is_legacy:  # base64 of CLIENT:UUID
        client = _random_text(length=26, alphabet=string.ascii_lowercase + string.digits)
        text = base64.b64encode(f"{client}:{uuid.uuid4()}".encode()).decode()
    elif key.form is WANDB_OLD:
        text = secrets.token_hex(20)  # 40 hexadecimal digits
    else:
        beginning = key.form.beginning
        text = beginning + _random_text(len(key.value) - len(beginning), string.ascii_letters + string.digits)
    return CheckedKey(text, key.form)


def _random_text(length: int, alphabet: str) -> str:
    return "".join(secrets.choice(alphabet) for _letter in range(length))


def _explain_malformed(text: str, service: str, form: Form | None) -> str:
    """Return why a text is not a key of the service. form: set if the text is a key of another service."""
    if form is not None:
        return f"this key is for {TITLES[form.service]}, not for {TITLES[service]}: store the key under another name"
    if re.search(r"[\"'`]", text):
        return "the key contains a quotation mark, probably copied from a script: store the key without quotes"
    return find_damage(text) or (
        f"this does not look like a key: {_EXPECTED[service]}; copy the key again from {KEY_PAGES[service]}"
    )
