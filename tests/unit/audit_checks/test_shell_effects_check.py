# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Variables of ours that a start-up file or the login shell has otherwise."""

from __future__ import annotations

import re

import pytest
from account_scene import HOME, Folder, Link, Plain, Scene
from ansible_collections.hpc.onboard.plugins.module_utils._audit_checks.shell_effects import HAZARDOUS_LINES
from ansible_collections.hpc.onboard.plugins.module_utils._audit_checks.startup_files import NO_SHELLS, StartupFiles
from audit_check_runs import run_check

from tests.effort import turns

pytestmark = turns(3)

OURS = {"CACHE": "/work/cache", "OTHER": "1"}
ENTRY = {"kind": "shell_environment", "section": "own", "variables": OURS, "path": []}
TEXT = "this line overrides hpc-onboard's CACHE"


def found(scene: Scene, **environment: str) -> dict[str, str]:
    """Return what the check finds where the login shell has this environment."""
    scene.environment = environment
    report = run_check(scene, StartupFiles, shells=False)
    assert report.remarks == [NO_SHELLS]
    return report.found


def add(scene: Scene, path: str, line: str) -> None:
    """Put a line below what is in a file."""
    file = scene.root / f"{HOME}/{path}".lstrip("/")
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a") as stream:
        stream.write(f"{line}\n")


def test_what_was_just_set_up_is_no_finding(scene: Scene) -> None:
    scene.run(ENTRY)
    assert found(scene) == found(scene, **OURS) == found(scene, PATH="/bin", MINE="x") == {}


def test_an_account_without_our_file_has_nothing_to_be_set_anew(scene: Scene) -> None:
    scene.make({"~/.bashrc": Plain(b"export CACHE=/tmp\n")})
    assert found(scene, CACHE="/tmp") == {}


@pytest.mark.parametrize(
    ("shell", "file", "line"),
    [
        ("/bin/bash", ".bashrc", "export CACHE=/tmp"),
        ("/bin/bash", ".profile", "CACHE=/tmp"),
        ("/bin/zsh", ".zshrc", "export CACHE=/tmp"),
        ("/bin/zsh", ".zshenv", "export CACHE=/tmp"),
        ("/bin/tcsh", ".login", "setenv CACHE /tmp"),
        ("/usr/bin/fish", ".config/fish/config.fish", "set -gx CACHE /tmp"),
    ],
)
def test_the_line_of_a_start_up_file_is_told(scene: Scene, shell: str, file: str, line: str) -> None:
    scene.shell = shell
    scene.run(ENTRY)
    add(scene, file, line)
    ((place, text),) = found(scene).items()
    assert place.startswith(f"ENV-007 ~/{file}:")
    assert text == TEXT


def test_zsh_reads_the_files_of_the_folder_that_it_is_told(scene: Scene) -> None:
    scene.shell = "/bin/zsh"
    scene.run(ENTRY)
    add(scene, ".zshenv", 'export ZDOTDIR="$HOME/.config/zsh"')
    add(scene, ".config/zsh/.zshrc", "export CACHE=/tmp")
    add(scene, ".zshrc", "export CACHE=/tmp")
    assert found(scene) == {"ENV-007 ~/.config/zsh/.zshrc:1": TEXT}


def test_a_folder_of_fish_that_cannot_be_listed_hides_nothing_else(scene: Scene) -> None:
    scene.shell = "/usr/bin/fish"
    scene.run(ENTRY)
    add(scene, ".config/fish/config.fish", "set -gx CACHE /tmp")
    scene.make({"~/.config/fish/conf.d": Link("x" * 300)})  # its error is that of a folder that may not be entered
    report = run_check(scene, StartupFiles, shells=False)
    assert list(report.found) == ["ENV-007 ~/.config/fish/config.fish:2"]
    assert "ENAMETOOLONG" in report.remarks[-1]


def test_a_file_that_this_shell_does_not_read_says_nothing(scene: Scene) -> None:
    scene.run(ENTRY)
    scene.make({"~/.zshrc": Plain(b"export CACHE=/tmp\n")})
    assert found(scene) == {}


def test_a_value_that_is_not_written_out_counts_by_what_the_login_shell_has(scene: Scene) -> None:
    scene.run(ENTRY)
    add(scene, ".bashrc", "export CACHE=/work/$(id -un)")
    assert found(scene) == found(scene, CACHE="/work/cache") == {}
    assert list(found(scene, CACHE="/work/root")) == ["ENV-007 ~/.bashrc:2"]


@pytest.mark.parametrize("line", ["export CACHE=/scratch/mine", "export CACHE=$SCRATCH/mine"])
def test_a_folder_that_the_line_leads_to_is_named_because_nothing_else_finds_it_then(scene: Scene, line: str) -> None:
    scene.run(ENTRY)
    add(scene, ".bashrc", line)
    environment = {"CACHE": "/scratch/mine", "SCRATCH": "/scratch"}
    assert found(scene, **environment) == {"ENV-007 ~/.bashrc:2": TEXT}
    scene.make({"/scratch": Folder(), "/scratch/mine": Folder()})
    assert found(scene, **environment) == {"ENV-007 ~/.bashrc:2": TEXT}, "an empty folder"
    scene.make({"/scratch/mine/layer": Plain(b"x")})
    said = f"{TEXT}; after you remove this line, /scratch/mine is no longer used, but its content remains"
    assert found(scene, **environment) == {"ENV-007 ~/.bashrc:2": said}


def test_what_no_line_explains_is_told_by_its_name(scene: Scene) -> None:
    scene.run(ENTRY)
    assert found(scene, CACHE="/opt/site") == {
        "ENV-007 $CACHE": "CACHE has a value other than hpc-onboard's in a login shell that runs a command"
    }


def test_no_value_is_told_for_it_may_be_a_secret(scene: Scene) -> None:
    scene.run(ENTRY)
    add(scene, ".bashrc", "export OTHER=geheim")
    scene.environment = {"OTHER": "geheim"}
    report = run_check(scene, StartupFiles, shells=False)
    assert list(report.found) == ["ENV-007 ~/.bashrc:2"]
    assert "geheim" not in str(report.document)
    assert report.document["evidence"]["fixes"], "the line can be taken out"


def test_a_folder_in_the_place_of_a_start_up_file_is_no_reason_to_fail(scene: Scene) -> None:
    scene.shell = "/bin/zsh"
    scene.run(ENTRY)
    scene.make({"~/.zshrc": Folder()})
    assert found(scene) == {}


SCRIPT = {"kind": "path_script", "path": "~/bin/usrun.sh", "content": "#!/bin/sh\necho run\n"}
ON_PATH = {**ENTRY, "path": ["~/bin"]}
BOTH = "CACHE and 1 more variable of hpc-onboard are not set in"


@turns(4)
@pytest.mark.parametrize(
    ("shell", "file", "above", "below", "finding"),
    [
        ("bash", ".bashrc", "", "", {}),
        ("zsh", ".zshenv", "", "", {}),
        ("tcsh", ".cshrc", "", "", {}),
        ("fish", ".config/fish/config.fish", "", "", {}),
        ("bash", ".bashrc", "return 0", "", {"ENV-007 ~/.bashrc:1": f"{BOTH} a command over ssh"}),
        (
            "bash", ".bashrc", "case $- in *i*) ;; *) return ;; esac", "",
            {"ENV-007 ~/.bashrc:1": f"{BOTH} a command over ssh"},
        ),
        ("bash", ".bashrc", "", "unset OTHER CACHE", {"ENV-007 ~/.bashrc:2": f"{BOTH} a command over ssh"}),
        ("bash", ".bashrc", "", "export CACHE=$(echo x)", {"ENV-007 ~/.bashrc:2": TEXT}),
        ("zsh", ".zshrc", "", "unset CACHE", {"ENV-007 ~/.zshrc:1": "CACHE is not set in an interactive shell"}),
        ("tcsh", ".cshrc", "", "unsetenv CACHE", {"ENV-007 ~/.cshrc:2": "CACHE is not set in a command over ssh"}),
        (
            "fish", ".config/fish/config.fish", "", "set -e CACHE",
            {"ENV-007 ~/.config/fish/config.fish:2": "CACHE is not set in a command over ssh"},
        ),
        (
            "bash", ".bashrc", "", "export PATH=/bin",
            {"ENV-005 ~/.bashrc:2": "~/bin is not on PATH in a command over ssh"},
        ),
        ("bash", ".bashrc", "", "declare +x OTHER", {"ENV-007 ~/.bashrc:2": "OTHER is not set in a command over ssh"}),
        ("bash", ".bashrc", "", 'export PATH="~/bin:$PATH"', {"ENV-005 ~/.bashrc:2": "PATH contains '~/bin' in a"}),
        ("bash", ".bashrc", "", "export PATH=$PATH:.", {"ENV-005 ~/.bashrc:2": "PATH contains the current folder in"}),
        ("bash", ".bashrc", "", "set -e", {"ENV-004 ~/.bashrc:2": "'set -e' is in effect in a command over ssh"}),
        ("zsh", ".zshenv", "", "typeset +x CACHE", {"ENV-007 ~/.zshenv:2": "CACHE is not set in a command over ssh"}),
        ("bash", ".ssh/rc", "", "echo hello", {"ENV-003 ~/.ssh/rc:1": "sshd runs this file at every connection"}),
        ("bash", ".ssh/rc", "", "echo add x | xauth -q -", {}),
        ("bash", ".ssh/rc", "", "[ -n \"$A\" ] && /usr/bin/w", {"ENV-003 ~/.ssh/rc:1": "sshd runs this file"}),
        ("bash", ".ssh/rc", "", "last | head", {"ENV-003 ~/.ssh/rc:1": "sshd runs this file"}),
        ("bash", ".ssh/rc", "", "if read a b; then\n  if true; then\n    echo add $a\n  fi | xauth -q -\nfi", {}),
        ("bash", ".ssh/rc", "", "cat >~/x <<E\necho hello\nE\nlogger $(date)", {}),
        (
            "bash", ".profile", "", "alias usrun.sh='srun --pty'",
            {"ENV-005 ~/.profile:2": "an alias or a function of the same name hides ~/bin/usrun.sh"},
        ),
        (
            "fish", ".config/fish/config.fish", "", "function usrun.sh; true; end",
            {"ENV-005 ~/.config/fish/config.fish:2": "hides ~/bin/usrun.sh in a command over ssh"},
        ),
        ("tcsh", ".cshrc", "", "alias usrun.sh srun", {"ENV-005 ~/.cshrc:2": "an alias or a function"}),
        ("bash", ".bashrc", "", "umask 0", {"ENV-008 ~/.bashrc:2": "umask 0000 lets every user change the files"}),
        ("bash", ".bashrc", "", "exec zsh", {"ENV-004 ~/.bashrc:2": "a command over ssh does not run"}),
        ("bash", ".profile", "", "[ -t 0 ] && exec tmux", {}),
        ("bash", ".bashrc", "", "cd /usr", {"ENV-011 ~/.bashrc:2": "every command starts in a folder"}),
        ("zsh", ".zshenv", "", "cd /usr", {"ENV-011 ~/.zshenv:2": "every command starts in a folder"}),
        ("bash", ".profile", "", "[[ $- != *i* ]] || cd /usr", {}),
        ("bash", ".bashrc", "", "ulimit -f 2048", {"ENV-011 ~/.bashrc:2": "this line limits every program"}),
        (
            "fish", ".config/fish/config.fish", "", "set --global --export TMOUT 60",
            {"ENV-011 ~/.config/fish/config.fish:2": "TMOUT: after this number"},
        ),
        (
            "fish", ".config/fish/config.fish", "", "set --export PATH . $PATH",
            {"ENV-005 ~/.config/fish/config.fish:2": "PATH contains the current folder"},
        ),
        (
            "fish", ".config/fish/config.fish", "", "set -g fish_trace 1",
            {"ENV-003 ~/.config/fish/config.fish:2": "fish_trace makes fish print every command"},
        ),
        (
            "fish", ".config/fish/config.fish", "", "status is-interactive; and source ~/gone.fish",
            {"ENV-003 ~/.config/fish/config.fish:2": "uses a file that does not exist"},
        ),
        ("tcsh", ".cshrc", "", "if ( -d /usr ) chdir /usr", {"ENV-011 ~/.cshrc:2": "every command"}),
        ("bash", ".bashrc", "", "export PYTHONPATH=./lib:/x", {"ENV-011 ~/.bashrc:2": "PYTHONPATH contains"}),
        ("bash", ".bashrc", "", "export PYTHONPATH=/x/.lib", {}),
        ("bash", ".bashrc", "", "export SHELLOPTS", {"ENV-011 ~/.bashrc:2": "SHELLOPTS: every bash script runs"}),
        ("zsh", ".zshrc", "", "path+=.", {"ENV-005 ~/.zshrc:1": "PATH contains the current folder"}),
        ("ksh", ".profile", "", "", {}),
        ("ksh", ".profile", "", "gone-x", {"ENV-003 ~/.profile:2": "this line runs a command that does not exist"}),
        ("bash", ".profile", "", "source ~/gone.sh", {"ENV-003 ~/.profile:2": "uses a file that does not exist"}),
        ("bash", ".profile", "", "if true; then", {"ENV-003 ~/.profile:3": "cannot run a line of the file"}),
        ("zsh", ".zshrc", "", "plugins=(git", {"ENV-003 ~/.zshrc:2": "cannot run a line of the file"}),
        ("bash", ".bashrc", "", "export PYTHONPATH=.:/x", {"ENV-011 ~/.bashrc:2": "PYTHONPATH contains the current"}),
        ("bash", ".bashrc", "", "export PYTHONPATH=/x:", {}),
        ("bash", ".bashrc", "", "export PYTHONPATH=:/x", {"ENV-011 ~/.bashrc:2": "PYTHONPATH contains the current"}),
        ("bash", ".bashrc", "", "export HOME=/usr", {"ENV-011 ~/.bashrc:2": "HOME is not your home directory"}),
        ("bash", ".bashrc", "", "export PIP_USER=1", {"ENV-011 ~/.bashrc:2": "PIP_USER: 'pip install' writes"}),
        ("bash", ".bashrc", "", "export MODULEPATH=~/m", {"ENV-011 ~/.bashrc:2": "'module' does not find the site's"}),
        ("bash", ".bashrc", "", "PATH=/usr/bin:/bin", {"ENV-005 ~/.bashrc:2": ""}),
        ("bash", ".bashrc", "", "[ -d /usr ] && export PATH=/usr/bin:/bin && true", {"ENV-005 ~/.bashrc:2": ""}),
        ("zsh", ".zshrc", "", "exec env -i HOME=/ zsh -f", {"ENV-011 ~/.zshrc:1": "without the variables of hpc-onbo"}),
        ("bash", ".bashrc", "", "PATH=/usr/bin:/bin ls >/dev/null", {}),
        ("tcsh", ".cshrc", "", "set path = (/usr/bin /bin)", {"ENV-005 ~/.cshrc:2": ""}),
        ("zsh", ".zshrc", "", "setopt ERR_EXIT; false", {"ENV-004 ~/.zshrc:1": "an interactive shell ends"}),
        ("zsh", ".zshrc", "", "tty -s || exit", {}),
        ("bash", ".bashrc", "", "exec 2>/dev/null", {"ENV-011 ~/.bashrc:2": "this line redirects output or errors"}),
        ("bash", ".profile", "", "case $- in *i*) exec zsh -f;; esac", {"ENV-004 ~/.profile:2": "interactive shells"}),
        ("bash", ".profile", "", "[[ $- == *i* ]] &&\n  exec fish", {"ENV-004 ~/.profile:3": "interactive shells"}),
        ("bash", ".profile", "", "if [[ $- == *i* && -t 0 ]]; then\n  exec fish\nfi", {}),
        ("bash", ".profile", "", "[[ $- == *i* ]] && exec \"$SHELL\" -l", {"ENV-004 ~/.profile:2": "interactive"}),
        ("bash", ".profile", "", "[[ $- == *i* ]] && exec env A=1 nu", {"ENV-004 ~/.profile:2": ""}),
        ("bash", ".profile", "", "[[ $- == *i* ]] && exec 3>&1", {}),
        ("tcsh", ".cshrc", "", "if ($?prompt) exec bash", {"ENV-004 ~/.cshrc:2": "interactive shells"}),
        ("tcsh", ".cshrc", "", "if ($?prompt) alias b exec bash", {}),
        ("bash", ".profile", "", "reload() {\n  exec bash\n}", {}),
        ("bash", ".bashrc", "", "umask u=rwx,go=rwx", {"ENV-008 ~/.bashrc:2": "umask 0000 lets every user change"}),
        ("bash", ".bashrc", "", "export CDPATH=.:/usr", {"ENV-011 ~/.bashrc:2": "CDPATH: 'cd' in scripts may enter"}),
        ("bash", ".bashrc", "", "CDPATH=.:/usr", {}),
        ("bash", ".bashrc", "", "export TMPDIR=~/tmp", {"ENV-011 ~/.bashrc:2": "TMPDIR is in the home directory"}),
        ("bash", ".bashrc", "", "sbatch() { command sbatch -x; }", {"ENV-005 ~/.bashrc:2": "hides the site's sbatch"}),
        ("zsh", ".zshrc", "", "hash sbatch=/bin/echo", {}),  # a site's folder, on PATH
        ("zsh", ".zshrc", "", "hash sbatch=/opt/mine", {"ENV-005 ~/.zshrc:1": "a hashed path hides the site's sbatch"}),
        ("bash", ".bashrc", "", "hash -p /opt/mine srun", {"ENV-005 ~/.bashrc:2": "hides the site's srun"}),
        ("fish", ".config/fish/config.fish", "", "alias srun 'srun -v'", {"ENV-005 ~/.config/fish/config.fish:2": ""}),
        ("bash", ".bashrc", "", "stty -ixon", {"ENV-003 ~/.bashrc:2": "an error: this line needs a terminal"}),
        ("bash", ".bashrc", "", ". /opt/x.sh", {"ENV-003 ~/.bashrc:2": "uses a file that does not exist"}),
        ("zsh", ".zshenv", "", "gone-x", {"ENV-003 ~/.zshenv:2": "this line runs a command that does not exist"}),
        ("bash", ".bashrc", "", "gone-x 2>/dev/null", {}),
        ("bash", ".bashrc", "", "touch ~/x", {}),
        ("bash", ".bashrc", "", ". ~/gone # hpc.onboard", {}),
        ("bash", ".profile", "", "gone-x", {"ENV-003 ~/.profile:2": "an interactive shell always prints an error"}),
        ("bash", ".bashrc", "", "set -x", {"ENV-003 ~/.bashrc:2": "'set -x' is in effect in a command over ssh"}),
        ("bash", ".bashrc", "", "set -u", {"ENV-004 ~/.bashrc:2": "which ends at the first unset variable"}),
        (
            "fish", ".config/fish/config.fish", "", "set -gu CACHE $CACHE",
            {"ENV-007 ~/.config/fish/config.fish:2": "CACHE is not set in a command over ssh"},
        ),
        ("tcsh", ".cshrc", "", "setenv A $NOBODY", {"ENV-003 ~/.cshrc:2": "the shell cannot run a line of the file"}),
        ("tcsh", ".cshrc", "", "if ( 0 ) then", {"ENV-003 ~/.cshrc:2": ""}),
        (
            "fish", ".config/fish/config.fish", "", "if [ -d /x ]; then",
            {
                "ENV-003 ~/.config/fish/config.fish:2": "the shell cannot run a line of the file",
                "ENV-007 ~/.config/fish/config.fish": f"{BOTH} a command over ssh and an interactive shell",
            },
        ),
        (
            "bash", ".profile", "", "f() { export CACHE=/x; }; PROMPT_COMMAND=f",
            {"ENV-007 ~/.profile:2": TEXT},
        ),
    ],
)  # fmt: skip
def test_what_arrives_in_each_shell(
    scene: Scene, shell: str, file: str, above: str, below: str, finding: dict[str, str]
) -> None:
    scene.shell = f"/usr/bin/{shell}" if shell == "fish" else f"/bin/{shell}"
    scene.run(SCRIPT, ON_PATH)
    scene.environment = {**OURS, "PATH": f"{HOME}/bin:/usr/bin"}
    path = scene.root / f"{HOME}/{file}".lstrip("/")
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [above, path.read_text() if path.exists() else "", below]
    path.write_text("".join(f"{one.rstrip()}\n" for one in lines if one))
    # once, because each case starts four shells
    report = run_check(scene, StartupFiles, again=False, programs=[{"path": "~/bin/usrun.sh"}], slow_seconds=20)
    assert list(report.found) == list(finding)
    assert [text for place, text in finding.items() if text not in report.found[place]] == []
    assert report.remarks == []


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        *((line, "redirects output") for line in ("exec > >(tee -a ~/log) 2>&1", "  exec >>log", "exec >&-")),
        ("[ -n x ] && exec >log", "redirects output"),
        *((line, "limits every program") for line in ("ulimit -c 0 -v $((8 * 1024))", "ulimit --file-size 999999")),
        *((line, "limits every program") for line in ("limit -h filesize 1g", "limit filesize 2m")),
        ("TMOUT=60", "TMOUT: after this number of seconds"),
        *((line, "") for line in ("exec 3>&1", "[[ $- == *i* ]] && exec 2>log", "log() { exec >log; }")),
        *((line, "") for line in ("executor >log", "env -i /bin/true", "ulimit -c 0 -n 4096")),
        *((line, "") for line in ("[[ $- == *i* ]] && ulimit -t 99999", "big() { ulimit -f 999999; }")),
        *((line, "") for line in ("limit coredumpsize 0; limit stacksize unlimited", "[[ $- == *i* ]] && TMOUT=3600")),
        ("export MODULEPATH=~/m:$MODULEPATH", ""),
    ],
)
def test_a_line_that_affects_every_program_is_known(line: str, problem: str) -> None:
    """Without a shell: whether its answer arrives after a redirection is a matter of time."""
    found = [text for word, pattern, text in HAZARDOUS_LINES if word in line and re.match(pattern, line)]
    assert len(found) == bool(problem)
    assert problem in "".join(found)


def test_a_program_of_the_account_in_the_place_of_slurms_is_found(scene: Scene) -> None:
    path = b"export PATH=$HOME/own:$PATH:$HOME/site\n"
    scene.make({"~/.bashrc": Plain(path), "~/own": Folder(), "~/own/singularity": Plain(b"", 0o755)})
    assert run_check(scene, StartupFiles, slow_seconds=20).found == {}, "no other one is on PATH"
    scene.make({"~/site": Folder(), "~/site/singularity": Plain(b"", 0o755)})
    assert list(run_check(scene, StartupFiles, slow_seconds=20).found) == ["ENV-005 ~/own/singularity"]


def test_a_line_of_the_user_in_the_file_of_settings_is_told(scene: Scene) -> None:
    scene.run(ENTRY)
    add(scene, ".config/hpc.onboard/env.sh", "\n# mine\nexport MINE=1")
    assert [place.partition(":")[0] for place in found(scene)] == ["ENV-002 ~/.config/hpc.onboard/env.sh"]
