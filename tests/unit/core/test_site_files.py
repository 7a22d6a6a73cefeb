# SPDX-License-Identifier: GPL-3.0-or-later
"""The start-up files of a site: what can be read of them."""

from __future__ import annotations

import tempfile
from pathlib import Path

from ansible_collections.hpc.onboard.plugins.module_utils._core.account import Account
from ansible_collections.hpc.onboard.plugins.module_utils._core.host import Host
from ansible_collections.hpc.onboard.plugins.module_utils._shells.site_files import find_site_settings
from forked import as_nobody


def test_a_file_that_only_root_can_read_hides_no_other() -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        root.chmod(0o755)
        (root / "etc/profile.d").mkdir(parents=True)
        for name in ("a.sh", "b.sh"):
            (root / "etc/profile.d" / name).write_text("export HF_HOME=/shared\n")
        (root / "etc/profile.d/a.sh").chmod(0)

        def look() -> list[str]:
            host = Host(Account("/nonexistent", "/bin/sh", {}), bytes(16), folder)
            return [path for path, _setting in find_site_settings(host, ["HF_HOME"])]

        assert as_nobody(look) == ["/etc/profile.d/b.sh"]
