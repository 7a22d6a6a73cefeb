# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of text files and scripts, and of the Slurm query whose answer these texts may contain.

The docstrings of the classes are the modules' documentation (tools/module_pages.py).

KIND is the resource type, TITLE the name of a resource, and OPTIONS the spec of its options. check() is called for each
resource before its options are sent to an account. self.options: these options, with defaults for missing ones. The
first argument of check_path() and similar functions is the name of the option in the error message.
"""

import re
from typing import Any, List, Mapping, Tuple

from .._core.errors import AccountError
from .._core.values import STATE, Options, check_path, check_word

LARGEST_TEXT = 64 * 1024  # bytes
FOUND = ("slurm_account", "slurm_cpu_account")
"""Values of the account that a text can contain as @slurm_account@ and @slurm_cpu_account@."""
SUFFIX = re.compile(r"[A-Za-z0-9_-]{1,40}\Z")


class OwnFileOptions(Options):
    """Keep your text file on the account.

    Writes a text file without changes, and records its checksum on the account.

    The task fails, and changes nothing, if the file existed before or was edited on the account.

    A text that contains a key is refused. For keys, use modules such as M(hpc.onboard.enroot_credential) and
    M(hpc.onboard.netrc_entry).

    Options:
        path: The path of the file.
        content: The whole text, at most 64 KiB.
        found: The placeholders in the text, each as a name without its C(@) signs. M(hpc.onboard.scheduler) finds the
            values on the account. C(@slurm_account@) is replaced by the Slurm account for jobs with GPUs,
            C(@slurm_cpu_account@) by the Slurm account for jobs without GPUs.
        mode: The mode of the file.

    Example: Let conda use only conda-forge
        path: ~/.condarc
        content: |
          channels: [conda-forge]
    """

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
        """Raise AccountError for an invalid path or text, or for an unknown placeholder."""
        check_path("path", self.options["path"])
        if self.options["state"] == "present":
            check_text("content of %s" % self.options["path"], self.options.get("content"))
        for name in self.options.get("found") or []:
            if name not in FOUND:
                raise AccountError("found: unknown name %r; available: %s" % (name, ", ".join(FOUND)))


class PathScriptOptions(OwnFileOptions):
    """Keep your script on the account.

    Writes an executable file that contains a stamp of hpc-onboard.

    The task fails, and changes nothing, if the file exists without the stamp or was edited by hand.

    Options:
        path: The path of the script.
        content: The whole text. It begins with C(#!) and ends with a newline. C(@script_folder@) in the text is
            replaced by the absolute path of the script's folder.
        asks: The command with which Slurm checks the script in each run; the outcome contains the result. No job is
            submitted.
        found: The placeholders in the text, each as a name without its C(@) signs. M(hpc.onboard.scheduler) finds the
            values on the account. C(@slurm_account@) is replaced by the Slurm account for jobs with GPUs,
            C(@slurm_cpu_account@) by the Slurm account for jobs without GPUs.

    Example: Keep a launcher in ~/bin
        path: ~/bin/hello.sh
        content: |
          #!/bin/sh
          echo hello
    """

    KIND = "path_script"
    TITLE = "script %(path)s"
    OPTIONS = dict(
        {name: spec for name, spec in OwnFileOptions.OPTIONS.items() if name != "mode"},
        asks={"type": "str", "default": "", "choices": ["", "sbatch --test-only"]},
    )

    def check(self) -> None:
        """Raise AccountError if the script lacks #! or the final newline, or is not valid as a text file."""
        content = self.options.get("content") or ""
        is_script = content.startswith("#!") and content.endswith("\n")
        if self.options["state"] == "present" and not is_script:
            raise AccountError(
                "content of %s: a script must begin with #! and end with a newline" % self.options["path"]
            )
        super().check()


class SchedulerOptions(Options):
    """Query Slurm for what the account may use.

    Runs Slurm's own programs on the login node (C(sacctmgr), C(sinfo), and C(sshare) if C(sacctmgr) does not answer) to
    list the Slurm accounts, qualities of service, partitions and GPU types that the account may use. Nothing is
    changed. The result is C(evidence.slurm) in the outcome.

    Each program is run once, for at most ten seconds. A missing answer is reported as unknown, not as a failure.

    In a plan, place this query before the files whose O(hpc.onboard.own_file#module:found) contains C(slurm_account) or
    C(slurm_cpu_account).

    Options:
        account: The Slurm account that you have chosen for jobs.
        likely: The Slurm account to use if you have several Slurm accounts, including this one.
        required: Whether jobs of this cluster need a Slurm account. If so, files that contain a Slurm account are not
            written until you choose one.
        suffixes: The suffixes of Slurm account names, if the site has separate accounts for jobs with GPUs (C(gpu)) and
            without GPUs (C(cpu)). You can write O(account) and O(likely) without these suffixes.

    Example: Show what I may use in Slurm
    """

    KIND = "scheduler"
    OPTIONS = {
        "account": {"type": "str", "default": ""},
        "likely": {"type": "str", "default": ""},
        "required": {"type": "str", "default": "no", "choices": ["yes", "no"]},
        "suffixes": {"type": "dict", "default": {}},
    }

    def name(self) -> str:
        """Return the name of the resource: an account has only one scheduler."""
        return "scheduler"

    def check(self) -> None:
        """Raise AccountError for an invalid Slurm account or suffix."""
        for name in ("account", "likely"):
            if self.options[name]:
                check_word(name, self.options[name])
        for purpose, suffix in self.options["suffixes"].items():
            if purpose not in ("cpu", "gpu") or not isinstance(suffix, str) or not SUFFIX.match(suffix):
                raise AccountError(
                    "suffixes: %r is not valid; expected a purpose (cpu or gpu) and a suffix, such as cpu: _cpu"
                    % {purpose: suffix}
                )


def fill_found(text: str, name: str, value: str) -> str:
    """Return a text with a value in place of @name@. For an empty value, remove each option of sbatch with @name@.

    If the option is in an #SBATCH line, the whole line is removed.

    >>> fill_found("#SBATCH --account=@slurm_account@\\nsrun -n1 --account=@slurm_account@ x\\n", "slurm_account", "")
    'srun -n1 x\\n'
    """
    placeholder = "@%s@" % name
    if not value:
        line_or_option = r"^#SBATCH --[a-z-]+=%s\n|(?<= )--[a-z-]+=%s ?" % (placeholder, placeholder)
        text = re.sub(line_or_option, "", text, flags=re.MULTILINE)
    return text.replace(placeholder, value)


def fill_options(options: List[str], found: Mapping[str, Any]) -> Tuple[List[str], str]:
    """Return a job's options with values in place of placeholders, and why the first missing value is missing, or "".

    An option whose value is missing is omitted. found: name of the placeholder -> its "value", and "why" the value is
    missing.
    """
    filled, why_missing = [], ""
    for option in options:
        name = next((name for name in FOUND if "@%s@" % name in option), None)
        if name is None:  # an option without a placeholder
            filled.append(option)
            continue
        result = found.get(name) or {"value": "", "why": ""}
        if result["value"]:
            filled.append(option.replace("@%s@" % name, result["value"]))
        why_missing = why_missing or result["why"]
    return filled, why_missing


def check_text(name: str, value: Any) -> None:
    """Raise AccountError for a value that is missing, not text, or too large to be sent in every run.

    name: the name of the value in messages.
    """
    if not isinstance(value, str) or "\0" in value:
        raise AccountError("%s is missing or is not text; copy binary files with rsync or scp" % name)
    if len(value.encode("utf-8", "surrogateescape")) > LARGEST_TEXT:
        size = LARGEST_TEXT // 1024
        raise AccountError("%s is larger than %d KiB; copy the file with rsync or scp" % (name, size))
