# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is asked of files with a text of their own, and of what is found on the account for these texts.

They are loaded for accounts that have some.
"""

import re
from typing import Any

from .._core.errors import AccountError
from .._core.values import STATE, Options, check_path, check_word

LARGEST_TEXT = 64 * 1024  # bytes
FOUND = ("slurm_account",)  # what a text can have found on the account: it stands there as @slurm_account@


class OwnFileOptions(Options):
    """What is asked of a text file."""

    KIND = "own_file"
    TITLE = "file %(path)s"
    OPTIONS = {
        "path": {"type": "path", "required": True},
        "content": {"type": "str"},
        "found": {"type": "list", "elements": "str", "default": []},
        "mode": {"type": "str", "default": "0644", "choices": ["0600", "0640", "0644", "0700", "0750", "0755"]},
        "state": STATE,
    }

    def check(self) -> None:
        check_path("path", self.options["path"])
        if self.options["state"] == "present":
            check_text("content of %s" % self.options["path"], self.options.get("content"))
        for name in self.options.get("found") or []:
            if name not in FOUND:
                raise AccountError("found: %r is not found on accounts; there are: %s" % (name, ", ".join(FOUND)))


class PathScriptOptions(OwnFileOptions):
    """What is asked of a script."""

    KIND = "path_script"
    TITLE = "script %(path)s"
    OPTIONS = dict(
        {name: spec for name, spec in OwnFileOptions.OPTIONS.items() if name != "mode"},
        asks={"type": "str", "default": "", "choices": ["", "sbatch --test-only"]},
    )

    def check(self) -> None:
        content = self.options.get("content") or ""
        if self.options["state"] == "present" and not (content.startswith("#!") and content.endswith("\n")):
            raise AccountError("content of %s: a script begins with #! and ends its last line" % self.options["path"])
        super().check()


class SchedulerOptions(Options):
    """What is asked of the batch system.

    account: that the person has chosen. likely: the project, where a site names accounts so. required: "yes" where no
    job starts without one, so that what names it waits until one is chosen.
    """

    KIND = "scheduler"
    OPTIONS = {
        "account": {"type": "str", "default": ""},
        "likely": {"type": "str", "default": ""},
        "required": {"type": "str", "default": "no", "choices": ["yes", "no"]},
    }

    def name(self) -> str:
        return "scheduler"

    def check(self) -> None:
        for name in ("account", "likely"):
            if self.options[name]:
                check_word(name, self.options[name])


def with_found(text: str, name: str, value: str) -> str:
    """A text with what was found in it. Where nothing was, the option that would name it goes, and its line.

    >>> with_found("#SBATCH --account=@slurm_account@\\nsrun -n1 --account=@slurm_account@ x\\n", "slurm_account", "")
    'srun -n1 x\\n'
    """
    word = "@%s@" % name
    if not value:
        text = re.sub(r"^#SBATCH --[a-z-]+=%s\n|(?<= )--[a-z-]+=%s ?" % (word, word), "", text, flags=re.MULTILINE)
    return text.replace(word, value)


def check_text(name: str, value: Any) -> None:
    """Refuse what is no text, or too much of it to be taken along in every run."""
    if not isinstance(value, str) or "\0" in value:
        raise AccountError("%s: it is not said, or is no text; copy other files with rsync or scp" % name)
    if len(value.encode("utf-8", "surrogateescape")) > LARGEST_TEXT:
        raise AccountError("%s: it is larger than %d KiB; copy it with rsync or scp" % (name, LARGEST_TEXT // 1024))
