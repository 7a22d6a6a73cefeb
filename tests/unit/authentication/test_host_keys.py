# SPDX-License-Identifier: GPL-3.0-or-later
"""No host key is offered to the user for trust that was not compared with the keys that the site publishes."""

from __future__ import annotations

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._core.errors import AccountError
from ansible_collections.hpc.onboard.plugins.plugin_utils._authentication.host_keys import add_published_keys

KEY = "SHA256:" + "k" * 42 + "A"
CLUSTER = {"name": "X", "login": {"host_keys": [KEY]}}
QUESTION = """The authenticity of host 'a.b (10.0.0.1)' can't be established.
ED25519 key fingerprint is {key}.
This key is not known by any other names.
Are you sure you want to continue connecting (yes/no/[fingerprint])? """


@pytest.mark.parametrize(
    ("key", "reason"),
    [("SHA256:" + "o" * 42 + "A", "X publishes SHA256"), ("MD5:5a:8b:35:83:fb:0f:3d:e0", "Remove FingerprintHash")],
)
def test_a_key_that_the_site_does_not_publish_ends_the_login(key: str, reason: str) -> None:
    with pytest.raises(AccountError, match=reason):
        add_published_keys(QUESTION.format(key=key), CLUSTER, ["a.b"])


def test_a_published_key_is_called_so() -> None:
    assert "X publishes this host key" in add_published_keys(QUESTION.format(key=KEY), CLUSTER, ["a.b"])
