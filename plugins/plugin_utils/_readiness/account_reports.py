# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shared parts of reports on all accounts of a play: the accounts' results, and a file for other programs.

A play is a part of a playbook that Ansible runs for several accounts.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...module_utils._core.errors import AccountError, as_account_error
from ...module_utils._core.files import replace
from .._input.command_line import expand_home


def read_results(variables: Mapping[str, Any], register: str) -> dict[str, Mapping[str, Any]]:
    """Return each account's result by the account's name; {} for an account without a result.

    variables: of Ansible. register: the variable in which the playbook registers the results.
    """
    names = sorted(variables.get("ansible_play_hosts_all") or [])
    return {name: variables["hostvars"][name].get(register) or {} for name in names}


def write_report(setting: str, path: Path, document: Mapping[str, Any]) -> None:
    """Write the document as JSON to a private file, completely or not at all. Raise AccountError.

    setting: the name of the variable with the path, such as preflight_output, for errors.
    """
    try:
        file = Path(expand_home(str(path))).absolute()
        if file.is_dir():
            raise AccountError(f"{path} is a folder. Add the name of a file")
        folder = file.parent
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            content = (json.dumps(document, indent=1) + "\n").encode()
            replace(handle, file.name, content, mode=0o600, attributes={})  # without an access list
        finally:
            os.close(handle)
    except AccountError as error:
        raise AccountError(f"{setting}: {error}") from None
    except OSError as error:
        raise AccountError(f"{setting}: {as_account_error(error, f'writing {path}')}") from None
