# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a key stands in a text, and what is no key though it looks like one."""

from __future__ import annotations

import base64
import hashlib
import json

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._key_search.keys_in_texts import (
    KeyFinder,
    KeyInText,
    find_keys,
)
from ansible_collections.hpc.onboard.plugins.module_utils._key_search.placeholders import is_placeholder
from hypothesis import given
from hypothesis import strategies as st

NVAPI = "nvapi-" + hashlib.sha256(b"nvapi").hexdigest()
LEGACY = base64.b64encode(b"a1b2c3d4e5f6g7h8i9j0k1l2m3:01234567-89ab-cdef-0123-456789abcdef").decode()
HEX = hashlib.sha256(b"wandb").hexdigest()[:40]
WANDB = "wandb_v1_" + hashlib.sha256(b"wandb").hexdigest()
HF = "hf_" + hashlib.sha256(b"hf").hexdigest()[:34]
AUTH = base64.b64encode(f"$oauthtoken:{NVAPI}".encode()).decode()
ODD = "another-kind-of-key-entirely"


def nothing(_word: str) -> str:
    """Nobody knows of any key."""
    return ""


PLACES = {
    "exported": ("export NGC_API_KEY={}\n", NVAPI),
    "quoted": ("x\nsetenv NGC_API_KEY '{}'\n", NVAPI),
    "in a line of enroot": ("machine nvcr.io login $oauthtoken password {}\n", NVAPI),
    "legacy": ("NGC_CLI_API_KEY={}", LEGACY),
    "legacy in a line of enroot": ("machine nvcr.io login $oauthtoken password {}\n", LEGACY),
    "of wandb": ("wandb login {}\n", WANDB),
    "of wandb, of old": ("export WANDB_API_KEY={}\n", HEX),
    "of wandb, local": ("WANDB_API_KEY=local-{}\n", HEX),
    "of wandb in an address": ("git+https://user:{}@api.wandb.ai/x", HEX),
    "of wandb in netrc": ("machine api.wandb.ai\n  login user\n  password {}\n", HEX),
    "of Hugging Face": (": 1700000000:0;huggingface-cli login --token {}\n", HF),
    "of Hugging Face in an address": ("git clone https://me:{}@huggingface.co/me/model\r\n", HF),
    "of wandb below its name": ("wandb:\n  project: x\n  api_key: {}\n", HEX),
    "by its variable": ("export MISTRAL_API_KEY={}\n", "Zk3f9Qe7LwT2xYv8Bn5Rm1Cd4Gh6Jp0S"),
    "by its variable, with few digits": ("MISTRAL_API_KEY={}\n", "X5qGshlZRyJmObabpxtRyBpuVvvJDMbxegNiht0sUzt"),
    "by a name in YAML": ("cohere_api_key: {}\n", "Zk3f9Qe7LwT2xYv8Bn5Rm1Cd4Gh6Jp0S"),
    "in a notebook": ('"source": ["m(api_key=\\"{}\\")"]\n', "Zk3f9Qe7LwT2xYv8Bn5Rm1Cd4Gh6Jp0S"),
    "by a name in JSON": ('{{"mistral": {{"apiKey": "{}"}}}}', "Zk3f9Qe7LwT2xYv8Bn5Rm1Cd4Gh6Jp0S"),
    "by a password": ("POSTGRES_PASSWORD={}\n", "Zk3f9Qe7LwT2xYv8Bn5Rm1Cd4Gh6Jp0S"),
    "by another variable": ("AZURE_OPENAI_KEY={}\n", HEX[:32]),
    "by a name in a quoted form": ('"secret_key" = "{}"\n', "Zk3f9Qe7LwT2xYv8Bn5Rm1Cd4Gh6Jp0S"),
    "by a name in one word": ("clientsecret: {}\n", "Zk3f9Qe7LwT2xYv8Bn5Rm1Cd4Gh6Jp0S"),
    "by the end of a name": ("  application_credential_secret: {}\n", "Zk3f9Qe7LwT2xYv8Bn5Rm1Cd4Gh6Jp0S"),
    "by a pair of name and value": ("- name: MISTRAL_API_KEY\n  value: {}\n", "Zk3f9Qe7LwT2xYv8Bn5Rm1Cd4Gh6Jp0S"),
    "by a pair in JSON": ('{{"name": "DB_PASS", "value": "{}"}}\n', "Zk3f9Qe7LwT2xYv8Bn5Rm1Cd4Gh6Jp0S"),
    "by a name in XML": ("<ApiKey>{}</ApiKey>\n", "Zk3f9Qe7LwT2xYv8Bn5Rm1Cd4Gh6Jp0S"),
    "by a name in R": ('api_key <- "{}"\n', "Zk3f9Qe7LwT2xYv8Bn5Rm1Cd4Gh6Jp0S"),
    "by a name in make": ("MISTRAL_API_KEY ?= {}\n", "Zk3f9Qe7LwT2xYv8Bn5Rm1Cd4Gh6Jp0S"),
    "by a name with a type": ('apiKey: string = "{}"\n', "Zk3f9Qe7LwT2xYv8Bn5Rm1Cd4Gh6Jp0S"),
    "by a header": ("curl -H 'X-Api-Key: {}'\n", "Zk3f9Qe7LwT2xYv8Bn5Rm1Cd4Gh6Jp0S"),
    "by a name of one word": ("export TOKEN={}\n", "Zk3f9Qe7LwT2xYv8Bn5Rm1Cd4Gh6Jp0S"),
    "of an account": ("AccountName=a;AccountKey={};Endpoint\n", "Zk3f9Qe7LwT2xYv8Bn5Rm1Cd4Gh6Jp0S" * 2 + "a7"),
    "of Kaggle": ('{{"username":"ada","key":"{}"}}', HEX[:32]),
    "of PuTTY": (
        "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nComment: x\nPublic-Lines: 1\nAAAA\nPrivate-Lines: 1\n"
        "{}\nPrivate-MAC: 00\n",
        "AAAAIJ" + HEX,
    ),
    "of WireGuard": ("[Interface]\nPrivateKey = {}\n", HEX + "abc="),
    "among bytes": ("\0\1\xff{}\0", HF),
}


@pytest.mark.parametrize("name", PLACES)
def test_a_key_is_found_with_its_line(name: str) -> None:
    form, key = PLACES[name]
    text = form.format(key)
    found = find_keys(text, nothing)
    assert [one.value.removeprefix("local-") for one in found] == [key]
    assert found[0].line == text[: text.index(key)].count("\n") + 1


def test_a_login_in_json_is_decoded() -> None:
    text = f'{{\n "auths": {{"nvcr.io": {{"auth": "{AUTH}"}}}}\n}}'
    assert find_keys(text, nothing) == [KeyInText(2, NVAPI, "a login for the NVIDIA registry")]


def test_what_is_known_of_a_key_is_said_whatever_its_form() -> None:
    known = {NVAPI: "the old one", HEX: "wandb's", ODD: "odd"}
    text = f"a {NVAPI}\ngit checkout {HEX}\nb={ODD}\n"
    found = find_keys(text, lambda word: known.get(word, ""))
    assert found == [KeyInText(1, NVAPI, "the old one"), KeyInText(2, HEX, "wandb's"), KeyInText(3, ODD, "odd")]


OTHERS = [
    f"cache_key: v1-{HEX}",
    f"CACHE_KEY={HEX}",
    f'"publicKey": "{HEX}"',
    "api_key = load_key_of_project_2024_v1_a1b2",
    f"next_page_token = {HEX}",
    f'<input name="csrf_token" value="{HEX}">',
    f'{{"csrf_token": "{HEX}"}}',
    f'<input type="hidden" name="form_token" value="{HEX}">',
    f"<PublicApiKey>{HEX}</PublicApiKey>",
    f"TOKENIZER={HEX}",
    f'"hashed_secret": "{HEX}"',
    f"model.pad_token = {HEX[:16]}",
    "MISTRAL_API_KEY=my-key-of-2024-project1",
    "MISTRAL_API_KEY=MyKeyForThe2ndProjectOfTheGroup1",
    "api_key = ReadTheKeyFromTheVault4Me2Please",
    "MISTRAL_API_KEY=$(cat ~/secrets/mistral1234567890)",
    "MISTRAL_API_KEY=/data/keys/mistral/2024/key1",
    "MISTRAL_API_KEY: os.environ1234567890123456",
    f"wandb:\n  commit: {HEX}",
    "Encryption: aes256-cbc\nPrivate-Lines: 1\nAAAA",
    "export NGC_API_KEY=$(cat ~/key)",
    "nvapi-short",
    NVAPI + "x",
    "x" + NVAPI,
    "NVAPI-" + NVAPI[6:],
    "hf_hub_download_of_a_model_with_a_long_name_indeed",
    "hf_short",
    base64.b64encode(b"x" * 63).decode(),
    f"git checkout {HEX}",
    f"commit {HEX}\nfix wandb",
    f"pip install git+https://github.com/wandb/wandb@{HEX}",
    f"https://github.com/wandb/wandb/commit/{HEX}",
    f"WANDB_RUN={HEX}{HEX}",
    f"machine api.wandb.ai login user\n\n{HEX}",
    f"machine api.wandb.ai\nmachine other login x\npassword {HEX}",
    "JG9hdXRodG9rZW46/w==",
    "export NGC_API_KEY=nvapi-" + "x" * 64,
    "export NGC_API_KEY=nvapi-YOUR_" + "aB3" * 19 + "ab",
    "HF_TOKEN=hf_" + "X" * 34,
    f"wandb sync --id {HEX}",
    f"export WANDB_RUN_ID={HEX}",
    f"wandb.tar.gz sha1:{HEX}",
    f"echo '{HEX}  wandb.whl' | sha1sum -c",
    "WANDB_API_KEY=" + "0" * 40,
]


@pytest.mark.parametrize("text", OTHERS)
def test_what_looks_like_a_key_is_none(text: str) -> None:
    assert find_keys(text, nothing) == []


@pytest.mark.parametrize(
    "word",
    ["nvapi-xxxx", "hf_xxxxxxxxxxx", "YOUR_KEY", "<your-key>", "xxxxxxxx", "removed-by-hpc.onboard", "changeme"],
)
def test_what_stands_for_a_key_is_none(word: str) -> None:
    assert is_placeholder(word)


WITH_A_WORD = "sk-proj-DEvXM_MY-AV4n1BjhV7nMY_Ut58-Fh79bUo8S3phwjdhTOXtTIQIu6SMoSd9TZIRy1D7lVoz0n"


@pytest.mark.parametrize("key", [NVAPI, LEGACY, HEX, WANDB, HF, ODD, WITH_A_WORD])
def test_a_key_does_not_stand_for_one(key: str) -> None:
    assert not is_placeholder(key)


@given(st.text(alphabet='nvapi-hf_wandb$ =\n\0"0aZ/+', max_size=300))
def test_any_text_has_keys_on_its_own_lines_only(text: str) -> None:
    for one in find_keys(text, nothing):
        assert one.value in text.split("\n")[one.line - 1]


def test_a_word_is_asked_for_once() -> None:
    asked = []
    find_keys(f"x {ODD}\n" * 1000, lambda word: asked.append(word) or "")  # type: ignore[func-returns-value]  # one expression for a lambda
    assert asked == [ODD]


def test_a_key_in_base64_of_settings_that_have_it_in_base64_is_found() -> None:
    inner = json.dumps({"auths": {"nvcr.io": {"auth": AUTH}}})
    text = f"data:\n  .dockerconfigjson: {base64.b64encode(inner.encode()).decode()}\n"
    found = find_keys(text, nothing)
    assert [(one.line, one.value) for one in found] == [(2, NVAPI)]
    assert find_keys(text.replace(base64.b64encode(inner.encode()).decode(), inner.encode().hex()), nothing) == []


def test_a_file_of_wandb_needs_not_name_it() -> None:
    text = f"[default]\napi_key = {HEX}\n".encode()
    assert [one.line for one in KeyFinder(nothing).find(text, "/home/ada/.config/wandb/settings")] == [2]
    (other,) = KeyFinder(nothing).find(text, "/home/ada/.config/other/settings")
    assert other.what == "the value of api_key"
