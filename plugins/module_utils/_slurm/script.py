# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The script of a Slurm job: shell commands that do its work and write its progress and its result."""

import shlex

# files in the job's folder; the mark contains the job's name
MARK, PROGRESS, RESULT = "mark.json", "progress.json", "result.json"
SAY = """\
say() { # STEP [DONE TOTAL UNIT]: write the progress file
    printf '{"step": "%s", "done": %s, "total": %s, "unit": "%s"}' \\
        "$1" "${2:-null}" "${3:-null}" "${4:-steps}" \\
        >progress.new && mv progress.new progress.json
}
"""
PRELUDE = """\
#!/bin/bash
# A job of hpc.onboard. Its commands are in work(), below.
umask 077
cd {folder} || exit 1
case $(stat -c %u:%a .) in "$(id -u)":*00) ;; *) exit 1 ;; esac
grep -qF {name} {mark} || exit 1
{say}end() {{ # CODE
    [ -e {mark} ] || exit "$1"
    printf '{{"code": %s}}' "$1" >result.new && mv result.new {result}
    exit "$1"
}}
trap 'kill $(jobs -p) 2>/dev/null; end 143' TERM INT XCPU
say beginning
work() {{
"""
CODA = """
}
work >>log 2>&1 </dev/null &
wait "$!"
end "$?"
"""


def render_script(folder: str, name: str, work: str) -> str:
    """Return the script of the job with this folder and name. work: shell commands.

    The script exits unless its folder is private and contains the job's mark, because another user may have replaced a
    folder above it after the submission.
    """
    head = PRELUDE.format(say=SAY, folder=shlex.quote(folder), name=shlex.quote(name), mark=MARK, result=RESULT)
    return head + work + CODA
