# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is rendered for a shell, judged by parsing it again and by the shells themselves."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._formats import environment
from ansible_collections.hpc.onboard.plugins.module_utils._options import shell_options
from hypothesis import given
from hypothesis import strategies as st

SHELLS = {
    "sh": ["sh"],
    "dash": ["dash"],
    "bash": ["bash", "--norc", "--noprofile"],
    "zsh": ["zsh", "-f"],
    "ksh": ["ksh"],
    "mksh": ["mksh"],
    "tcsh": ["tcsh", "-f"],
    "fish": ["fish", "--no-config"],
}
ALLOWED = "".join(chr(code) for code in range(32, 127) if shell_options.VALUE.match(chr(code)))
value = st.text(ALLOWED, max_size=20)
name = st.from_regex(r"HPC_[A-Z0-9_]{1,10}", fullmatch=True)
folder = st.text("abcXYZ019_@%+=,. -", min_size=1, max_size=10).map(lambda text: "/f/" + text)
NASTY = [
    *ALLOWED,
    "",
    " ",
    "  a  ",
    "$HOME",
    "${HOME}",
    "$(id)",
    "$$",
    "~",
    "~root",
    "*",
    "/*",
    "{a,b}",
    "[a-z]*",
    "-n",
]
NASTY += [
    "a;b",
    "a&&b",
    "a|b",
    "<a>",
    "#a",
    "a #b",
    "%d",
    "^a^b",
    "=ls",
    "a=b",
    "$?",
    "$#",
    "@",
    "$argv[1]",
    ALLOWED,
    ALLOWED[::-1],
]


@pytest.mark.parametrize("dialect", environment.DIALECTS)
@given(
    variables=st.dictionaries(name, value, max_size=5),
    path=st.lists(folder, unique=True, max_size=4),
    path_end=st.lists(folder, unique=True, max_size=4),
)
def test_what_is_rendered_is_read_back(
    dialect: str, variables: dict[str, str], path: list[str], path_end: list[str]
) -> None:
    commands = {"conda": "/f/conda-{machine}/c.sh", "other": "/f/other.sh"}
    settings = environment.ShellSettings(variables, path, path_end, commands)
    assert environment.parse(dialect, environment.render(dialect, settings)) == settings


@pytest.mark.parametrize("shell", sorted(SHELLS))
def test_a_command_on_demand_is_defined_by_its_file_when_it_is_used(shell: str, tmp_path: Path) -> None:
    dialect = environment.BY_SHELL[shell]
    folder = tmp_path / f"conda-{os.uname().machine}"
    folder.mkdir()
    texts = {
        "sh": 'conda() { echo "did $1|$2"; }\n',
        "csh": "alias conda 'echo did \\!*'\n",
        "fish": "function conda; echo did $argv[1]\\|$argv[2]; end\n",
    }
    (folder / f"c.{dialect}").write_text(texts[dialect])
    commands = {"conda": f"{tmp_path}/conda-{{machine}}/c.{dialect}"}
    definition = environment.render(dialect, environment.ShellSettings(commands=commands))
    file = tmp_path / "file"
    file.write_text(definition + 'conda first "a b"\nconda again x\n')
    ran = subprocess.run([*SHELLS[shell], str(file)], capture_output=True, text=True, cwd=tmp_path, check=True)
    assert ran.stderr == ""
    assert ran.stdout.replace("|", " ") == "did first a b\ndid again x\n"
    file.write_text(definition.replace("/conda-", "/gone-") + "conda first\necho alive\n")
    gone = subprocess.run([*SHELLS[shell], str(file)], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert gone.stdout == "alive\n"
    assert gone.stderr.strip()


def printed(shell: str, file: Path, tmp_path: Path, extra: dict[str, str] | None = None) -> dict[str, str]:
    """The environment of a program that the shell starts after it has read the file, twice."""
    source = "source" if environment.BY_SHELL[shell] in ("csh", "fish") else "."
    command = f"{source} {file}; {source} {file}; env -0"
    known = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), **(extra or {})}
    ran = subprocess.run(
        [*SHELLS[shell], "-c", command],
        env=known,
        capture_output=True,
        check=True,
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
    )
    assert ran.stderr == b""
    pairs = ran.stdout.decode("latin-1").split("\0")
    return dict(pair.split("=", 1) for pair in pairs if "=" in pair)


def available(shell: str) -> None:
    """Skip what this machine has not."""
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")


@pytest.mark.parametrize("shell", SHELLS)
def test_a_real_shell_keeps_every_value_as_it_is(shell: str, tmp_path: Path) -> None:
    available(shell)
    variables = {f"HPC_{number:03}": text for number, text in enumerate(NASTY)}
    for variable, text in variables.items():
        shell_options.check_variable(variable, text)
    file = tmp_path / "env"
    file.write_text(environment.render(environment.BY_SHELL[shell], environment.ShellSettings(variables)))
    found = printed(shell, file, tmp_path)
    assert {variable: found.get(variable) for variable in variables} == variables


FOLDERS = ["/f/one", "/f/with a blank", "/f/-n", "/f/a=b,c@d%e+f"]


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (environment.ShellSettings(path=FOLDERS), ":".join([*FOLDERS, "/usr/bin", "/bin"])),
        (environment.ShellSettings(path_end=FOLDERS), ":".join(["/usr/bin", "/bin", *FOLDERS])),
        (environment.ShellSettings(path=["/bin"], path_end=["/usr/bin"]), "/usr/bin:/bin"),
    ],
    ids=["first", "last", "there already"],
)
def test_a_real_shell_has_our_folders_once_and_at_their_end_of_path(
    shell: str, settings: environment.ShellSettings, expected: str, tmp_path: Path
) -> None:
    available(shell)
    file = tmp_path / "env"
    file.write_text(environment.render(environment.BY_SHELL[shell], settings))
    assert printed(shell, file, tmp_path)["PATH"] == expected


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("shell", SHELLS)
def test_our_line_reads_the_file_when_it_is_there_and_is_silent_when_not(shell: str, end: str, tmp_path: Path) -> None:
    available(shell)
    dialect = environment.BY_SHELL[shell]
    start_up = tmp_path / "start-up"
    start_up.write_bytes((environment.source_line(dialect, f"env.{dialect}", "# hpc.onboard") + end).encode())
    assert "HPC_X" not in printed(shell, start_up, tmp_path)
    (tmp_path / f"env.{dialect}").write_text(
        environment.render(dialect, environment.ShellSettings({"HPC_X": "$HOME *"}))
    )
    assert printed(shell, start_up, tmp_path)["HPC_X"] == "$HOME *"


@pytest.mark.parametrize("shell", SHELLS)
def test_no_name_that_we_accept_upsets_a_shell(shell: str, tmp_path: Path) -> None:
    available(shell)
    suspects = sorted({*os.environ, *SUSPECTS} - shell_options.SHELL_VARIABLES)
    names = [
        one
        for one in suspects
        if shell_options.VARIABLE.match(one) and not one.startswith(shell_options.SHELL_PREFIXES)
    ]
    names = [one for one in names if not one.startswith(("LANG", "LC_"))]  # /x is no locale, and shells say so
    file = tmp_path / "env"
    dialect = environment.BY_SHELL[shell]
    file.write_text(environment.render(dialect, environment.ShellSettings(dict.fromkeys(names, "/x"))) + "true\n")
    found = printed(shell, file, tmp_path)
    assert {one: found.get(one) for one in names if found.get(one) != "/x"} == {}


SUSPECTS = (  # noqa: SIM905  # words read better in one text
    "PATH HOME SHELL USER LOGNAME PWD OLDPWD IFS UID EUID PPID GID EGID SHELLOPTS BASHOPTS BASH BASH_ENV BASH_VERSION"
    " BASH_VERSINFO BASH_ARGV BASHPID FUNCNAME GROUPS DIRSTACK LINENO RANDOM SECONDS HISTCMD OPTARG OPTIND ENV CDPATH"
    " FPATH fpath path cdpath manpath mailpath status argv prompt signals pipestatus funcstack history version fish_pid"
    " hostname umask _ ZSH_VERSION ZSH_NAME USERNAME HOST MACHTYPE OSTYPE HOSTTYPE VENDOR TERM LANG LC_ALL TMPDIR MAIL"
    " EDITOR SHLVL COLUMNS LINES KSH_VERSION cwd home shell term user group gid uid tty owd autologout module_path"
    " histchars watch psvar WATCH MANPATH PS1 PS2 PS3 PS4 REPLY ERRNO TTYIDLE CPUTYPE NODE_OPTIONS commands aliases"
    " functions options parameters dirstack words CURRENT BUFFER KEYS fish_user_paths fish_trace fish_complete_path"
    " FISH_VERSION"
).split()
