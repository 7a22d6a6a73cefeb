# SPDX-License-Identifier: GPL-3.0-or-later
"""NVIDIA's own names and ports, in a network of its own where they lead to the test's registry."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.runs import REPOSITORY

pytestmark = pytest.mark.testbed

NAMES = ("nvcr.io", "authn.nvidia.com", "api.ngc.nvidia.com")
SCRIPT = """
import json, sys
from pathlib import Path
from ansible_collections.hpc.onboard.plugins.module_utils._formats.enroot import format_entry
from ansible_collections.hpc.onboard.plugins.plugin_utils._validate.https import Transport
from ansible_collections.hpc.onboard.plugins.plugin_utils._validate.key_kinds import check_key
from ansible_collections.hpc.onboard.plugins.plugin_utils._validate.validate import ValidationSettings, judge_key
from tests.integration.keys import curl_as_enroot
from tests.testbed.registry import PRIVATE, TAG, Registry, new_key

names, realm, folder = sys.argv[1].split(","), sys.argv[2], Path(sys.argv[3])
image = f"{PRIVATE}:{TAG}"
with Registry(names, listen="0.0.0.0", port=443, realm=realm) as registry:
    registry.doorkeeper.public.add("nvidia/cuda")
    settings = ValidationSettings(canary=image, transport=Transport(ca_file=str(registry.ca_file), proxies={}))
    told = {}
    for case, repositories in (("valid", [PRIVATE]), ("not_entitled", []), ("invalid", None)):
        key = new_key()
        if repositories is not None:
            registry.allow(key, repositories)
        path = folder / case
        path.write_text("".join(format_entry(host, "$oauthtoken", key) + "\\n" for host in names[:2]))
        found = judge_key(check_key(key, "ngc"), settings)
        curl = curl_as_enroot.pull("nvcr.io", image, path, registry.ca_file)
        told[case] = [found.verdict, [one.level for one in found.findings if one.is_measured], curl.verdict]
    print(json.dumps(told))
"""


@pytest.mark.parametrize("realm", ["nvcr.io", "authn.nvidia.com"])
def test_the_default_settings_and_enroots_file_fit_nvidias_names(tmp_path: Path, realm: str) -> None:
    if os.environ.get("HPC_ONBOARD_NO_TESTBED") == "1":
        pytest.skip("no testbed, as HPC_ONBOARD_NO_TESTBED=1 says")
    (tmp_path / "hosts").write_text(f"127.0.0.1 localhost {' '.join(NAMES)}\n")
    world = 'mount --bind "$1" /etc/hosts && ip link set lo up && shift && exec "$@"'
    done = subprocess.run(
        ["unshare", "--mount", "--net", "sh", "-c", world, "sh", str(tmp_path / "hosts"),
         sys.executable, "-c", SCRIPT, ",".join(NAMES), realm, str(tmp_path)],
        cwd=REPOSITORY, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    measured = ["issuer", "token", "manifest"]
    assert json.loads(done.stdout) == {case: [case, measured, case] for case in ("valid", "not_entitled", "invalid")}
