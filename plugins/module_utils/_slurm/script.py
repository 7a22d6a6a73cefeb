# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The script of a job: what it does, and around it the files by which others know how far it is and how it ended."""

import shlex

MARK, PROGRESS, RESULT = "mark.json", "progress.json", "result.json"
SAY = """\
say() { # STEP [DONE TOTAL UNIT]: how far it is, for whoever looks
    printf '{"step": "%s", "done": %s, "total": %s, "unit": "%s"}' \\
        "$1" "${2:-null}" "${3:-null}" "${4:-steps}" \\
        >progress.new && mv progress.new progress.json
}
"""
PRELUDE = """\
#!/bin/bash
# A job of hpc.onboard. What it does stands at the end.
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


def script(folder: str, name: str, work: str) -> str:
    """The whole script of a job of that name: what it does, and around it the files that tell how it is.

    The path to its folder may lead elsewhere by now: it works only where its name is noted in a folder of its owner's.
    """
    head = PRELUDE.format(say=SAY, folder=shlex.quote(folder), name=shlex.quote(name), mark=MARK, result=RESULT)
    return head + work + CODA
