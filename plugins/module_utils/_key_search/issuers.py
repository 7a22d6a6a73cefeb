# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The formats of the keys of known issuers, each with its checksum if the format has one.

Sources: the issuers' pages (docs.github.com "About authentication to GitHub", github.blog 2021-04-05 for the checksum
of GitHub and npm; docs.gitlab.com "Token overview"; docs.aws.amazon.com "IAM identifiers"; docs.pypi.org and
github.com/pypi/warehouse for its macaroons; api.slack.com "Token types") and the public rules of gitleaks, trufflehog
and detect-secrets. NGC, wandb and Hugging Face are in key_forms.py. Formats that other words share are left out.
"""

import base64
import binascii
import json
import re
import time
import zlib
from functools import lru_cache
from typing import Callable, NamedTuple, Optional, Pattern, Tuple

from .._formats.key_forms import HF, NVAPI, WANDB_NOW, Form, title

_SUBJECT_IN_EXAMPLES = "1234567890"  # of the token on jwt.io, which documentation and tests copy
BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


class Issuer(NamedTuple):
    """A key format of an issuer."""

    what: str  # the name of the format in messages, with its article
    pattern: str  # a regular expression for the whole key, with its context as lookarounds
    is_valid: Optional[Callable[[str], bool]] = None  # returns True if the checksum of a key is correct


def has_crc(key: str) -> bool:
    """Return True if a key's last six characters are the CRC-32, in base 62, of those between prefix and checksum."""
    body = key[key.index("_") + 1 :]
    checksum = 0
    for letter in body[-6:]:
        checksum = checksum * 62 + BASE62.index(letter)
    return zlib.crc32(body[:-6].encode("ascii")) & 0xFFFFFFFF == checksum


def add_padding(word: str) -> str:
    """Return a word in base64 with the equal signs at its end, which tokens and the split into words leave out."""
    return word + "=" * (-len(word) % 4)


def is_macaroon(key: str) -> bool:
    """Return True if a key, after its prefix, encodes a macaroon of pypi.org or test.pypi.org in base64."""
    body = key[len("pypi-") :]
    try:
        content = base64.urlsafe_b64decode(add_padding(body))
    except binascii.Error:
        return False
    # The first bytes are: version 2, the field "location" (1), the length of its text, and the text.
    return content[:2] == b"\x02\x01" and content[3 : 3 + content[2]] in (b"pypi.org", b"test.pypi.org")


def is_in_force(payload: str) -> bool:
    """Return True if the payload of a JSON web token (RFC 7519) has not expired and is not a documentation example."""
    try:
        claims = json.loads(base64.urlsafe_b64decode(add_padding(payload)).decode("utf-8"))
    except (ValueError, RecursionError):  # not base64, UTF-8 or JSON
        return False
    if not isinstance(claims, dict) or claims.get("sub") == _SUBJECT_IN_EXAMPLES:
        return False
    expires = claims.get("exp")
    return expires is None or (isinstance(expires, (int, float)) and expires > time.time())


def from_form(form: Form) -> Issuer:
    """Return the key format of a service that hpc-onboard sets up."""
    return Issuer(name_with_article(form), form.pattern)


def name_with_article(form: Form) -> str:
    """Return the name of a key format with its article, such as 'an NGC personal key'."""
    is_ngc = form.name.startswith(("personal", "legacy"))
    return ("an " if is_ngc else "a ") + title(form)


ISSUERS: Tuple[Issuer, ...] = (
    from_form(NVAPI),
    from_form(WANDB_NOW),
    from_form(HF),
    Issuer("a Hugging Face organization token", r"api_org_[A-Za-z0-9]{34}"),
    Issuer("a GitHub token", r"gh[pousr]_[A-Za-z0-9]{36}", has_crc),
    Issuer("a GitHub token", r"github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}"),
    Issuer("an npm token", r"npm_[A-Za-z0-9]{36}", has_crc),
    Issuer("a GitLab token", r"gl(?:pat|dt|rt|cbt|ptt|ft|imt|soat|agent|oas|ffct)-[A-Za-z0-9_-]{20,300}"),
    Issuer("a GitLab runner token", r"GR1348941[A-Za-z0-9_-]{20}"),
    Issuer("an OpenAI key", r"sk-(?:[a-z]+-)?[A-Za-z0-9_-]{20,100}T3BlbkFJ[A-Za-z0-9_-]{20,100}"),
    Issuer("an Anthropic key", r"sk-ant-(?:api|admin|sid|oat|ort)\d\d-[A-Za-z0-9_-]{80,120}"),
    Issuer("an OpenRouter key", r"sk-or-v1-[0-9a-f]{64}"),
    Issuer("a Slack token", r"xox[abeprs]-(?:\d{1,14}-){1,3}[A-Za-z0-9]{18,200}"),
    Issuer("a Slack token", r"xapp-\d-[A-Z0-9]+-\d+-[a-z0-9]{32,100}"),
    Issuer("a Slack webhook", r"(?<=/services/)T[A-Z0-9]{8,12}/B[A-Z0-9]{8,12}/[A-Za-z0-9]{20,26}"),
    Issuer("a PyPI token", r"pypi-Ag[A-Za-z0-9_-]{60,1000}", is_macaroon),
    Issuer("a Google API key", r"AIza[A-Za-z0-9_-]{35}"),
    Issuer("a Google refresh token", r"1//0[A-Za-z0-9_-]{40,150}"),
    Issuer("a Google client secret", r"GOCSPX-[A-Za-z0-9_-]{28}"),
    Issuer("a Docker Hub token", r"dckr_[op]at_[A-Za-z0-9_-]{27,32}"),
    Issuer("a Databricks token", r"dapi[0-9a-f]{32}(?:-\d)?"),
    Issuer("a Telegram bot token", r"(?<=\d:)AA[A-Za-z0-9_-]{33}"),
    Issuer("a Stripe key", r"[sr]k_live_[A-Za-z0-9]{24,100}"),
    Issuer("a Replicate token", r"r8_[A-Za-z0-9]{37}"),
    Issuer("a Groq key", r"gsk_[A-Za-z0-9]{52}"),
    Issuer("an xAI key", r"xai-[A-Za-z0-9]{80}"),
    Issuer("a Perplexity key", r"pplx-[A-Za-z0-9]{48}"),
    Issuer("a LangSmith key", r"lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}"),
    Issuer("a DigitalOcean token", r"do[opr]_v1_[0-9a-f]{64}"),
    Issuer("a Vault token", r"(?<=hvs\.)[A-Za-z0-9_-]{90,120}"),
    Issuer("a Tailscale key", r"tskey-(?:[a-z]+-)?[A-Za-z0-9]{8,32}-[A-Za-z0-9]{20,40}"),
    Issuer("a Sentry token", r"sntry[su]_[A-Za-z0-9_+/]{60,250}"),
    Issuer("a Notion token", r"ntn_[A-Za-z0-9]{46}"),
    Issuer("a Linear key", r"lin_api_[A-Za-z0-9]{40}"),
    Issuer("an Atlassian token", r"ATATT3[A-Za-z0-9_-]{150,250}"),
    Issuer("an Anaconda token", r"(?<=/t/)[a-z]{2}-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
    Issuer("a Neptune key", r"eyJhcGlfYWRkcmVzcyI6[A-Za-z0-9_-]{60,400}"),
    Issuer("a Grafana token", r"gl(?:sa|c)_[A-Za-z0-9_]{32,200}"),
    Issuer("a Pinecone key", r"pcsk_[A-Za-z0-9]{5,8}_[A-Za-z0-9]{50,80}"),
    Issuer("a Langfuse key", r"sk-lf-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
    Issuer("a Tavily key", r"tvly-(?:dev-|prod-)?[A-Za-z0-9]{32}"),
    Issuer("a DeepSeek key", r"sk-[0-9a-f]{32}"),
    Issuer("a Bitbucket token", r"ATBB[A-Za-z0-9]{32}"),
    Issuer("a Figma token", r"figd_[A-Za-z0-9_-]{40}"),
    Issuer("a Postman key", r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}"),
    Issuer("a Supabase token", r"sbp_[0-9a-f]{40}"),
    Issuer("a Shopify token", r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"),
    Issuer("a RubyGems key", r"rubygems_[0-9a-f]{48}"),
    Issuer("a crates.io token", r"cio[A-Za-z0-9]{32}"),
    Issuer("an Artifactory token", r"AKCp[A-Za-z0-9]{69}"),
    Issuer("a Discord webhook", r"(?<=/webhooks/)\d{17,20}/[A-Za-z0-9_-]{60,80}"),
    Issuer("a New Relic key", r"NRAK-[A-Z0-9]{27}"),
    Issuer("a JSON web token", r"(?<=\.)eyJ[A-Za-z0-9_-]{17,3000}(?=\.)", is_in_force),
    Issuer("an age key", r"AGE-SECRET-KEY-1[A-Z0-9]{58}"),
)

_AROUND = "A-Za-z0-9_-"  # characters that must not be next to a key: they would make it part of a longer word
_ESCAPED = r"(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=[ \"']-p)"  # exceptions: escapes in JSON and URLs, option -p
POSSIBLE = "|".join(re.sub(r"\(\?<?=.*?\)", "", issuer.pattern) for issuer in ISSUERS)
"""Pattern of a word that may be a key: the patterns of all issuers without their lookarounds."""


@lru_cache()
def _key_pattern() -> Pattern[str]:
    """Return the pattern of all keys, with one group for each issuer.

    The pattern is compiled on demand, because few accounts have a misplaced key.
    """
    groups = "|".join("(%s)" % issuer.pattern for issuer in ISSUERS)
    return re.compile("(?:(?<![%s])|%s)(?:%s)(?![%s])" % (_AROUND, _ESCAPED, groups, _AROUND))


def find_issued(text: str) -> "list[Tuple[int, str, str]]":
    """Return the keys in a text with a known format and a valid checksum, as (start, key, description)."""
    found = []
    for match in _key_pattern().finditer(text):
        issuer = ISSUERS[(match.lastindex or 1) - 1]  # the number of the group that matched, from 1
        if issuer.is_valid is None or issuer.is_valid(match.group()):
            found.append((match.start(), match.group(), issuer.what))
    return found
