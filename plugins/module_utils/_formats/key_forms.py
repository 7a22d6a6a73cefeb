# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The formats of keys of NGC, wandb and Hugging Face.

Sources: nvapi- and 64 characters, and base64 of client:uuid (84 characters) for legacy keys: github.com/NVIDIA/nvcf
issue 886, github.com/NVIDIA/infra-controller (rest-api/auth) and public scanners for secrets. Several personal keys can
be valid at a time, but a new legacy key revokes the old one: org.ngc.nvidia.com/setup/api-keys. wandb: 40 characters or
more (github.com/wandb/wandb), formerly hexadecimal, today after wandb_v1_. Hugging Face: hf_ and 34 letters and digits,
as in public scanners for secrets; longer tokens are accepted.
"""

import base64
import binascii
import re
from typing import NamedTuple, Optional, Tuple

NGC, WANDB, HUGGING_FACE = "ngc", "wandb", "huggingface"
TITLES = {NGC: "NGC", WANDB: "wandb", HUGGING_FACE: "Hugging Face"}


class Form(NamedTuple):
    """The format of one kind of key."""

    name: str
    service: str
    beginning: str  # the prefix of all such keys; "" if they have none
    pattern: str  # regular expression for the whole key
    lengths: Tuple[int, int]  # of the shortest and the longest key


NVAPI = Form("personal or service key", NGC, "nvapi-", r"nvapi-[A-Za-z0-9_-]{64}", (70, 70))
LEGACY = Form("legacy key", NGC, "", r"[A-Za-z0-9+/]{84}", (84, 84))
WANDB_NOW = Form("key", WANDB, "wandb_v1_", r"wandb_v1_[A-Za-z0-9_]{40,120}", (49, 129))
WANDB_OLD = Form("key in the old format", WANDB, "", r"(?:[a-z0-9]{1,20}-)?[0-9a-f]{40}", (40, 61))
HF = Form("token", HUGGING_FACE, "hf_", r"hf_[A-Za-z0-9]{34,64}", (37, 67))
FORMS = (NVAPI, LEGACY, WANDB_NOW, WANDB_OLD, HF)

_CLIENT = re.compile(rb"[A-Za-z0-9]{26}:[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")


def find_form(text: str) -> Optional[Form]:
    """Return the format of a key, or None if the text is not a key in a known format."""
    form = next((form for form in FORMS if re.fullmatch(form.pattern, text)), None)
    if form is LEGACY and not _encodes_client(text):  # the pattern also matches keys of other services
        return None
    return form


def title(form: Form) -> str:
    """Return the name of a key format for messages, such as 'NGC legacy key'."""
    return "%s %s" % (TITLES[form.service], form.name)


def _encodes_client(text: str) -> bool:
    """Return True if the text is base64 of CLIENT:UUID, as a legacy key is."""
    try:
        return _CLIENT.fullmatch(base64.b64decode(text, validate=True)) is not None
    except binascii.Error:
        return False
