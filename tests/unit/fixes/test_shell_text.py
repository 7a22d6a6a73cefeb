# SPDX-License-Identifier: GPL-3.0-or-later
"""An assignment is taken out of a start-up file with nothing else, or not at all."""

from __future__ import annotations

import subprocess

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._fixes.shell_text import remove_assignments
from hypothesis import given
from hypothesis import strategies as st

BLOCK, JOINED, ANY = "is in a block", "is combined", "may use any variable"
USES = [  # lines of a file that use its variable KEY
    *('alias tr="enroot start -e KEY img"', "docker run -e KEY img", "srun --export=KEY,PATH job", "printenv KEY"),
    *("[[ -v KEY ]] && train", "declare -p KEY", "declare -n ref=KEY", "ssh -o SendEnv=KEY host", "test -v KEY"),
    *("sudo --preserve-env=KEY job", "python <<'END'\nimport os\nos.environ[\"KEY\"]\nEND", "python -c 'f(KEY == 1)'"),
    *("#SBATCH --export=KEY", "train ${KEY:-no}", 'echo "${#KEY}"', "export KEY=${KEY:-other}", "cat <<<$KEY"),
]
ANY_USES = ['echo "${!name}"', "eval train", 'eval "echo \\$$name"', 'eval "$(echo \\$$name)"', "x=$1; eval $x more"]
NO_USES = [
    *("# KEY", "  # the KEY of wandb", "export KEY", "KEY=other train", "docker run -e KEY=other img", "train $KEYS"),
    *('eval "$(conda shell.bash hook)"', "eval `dircolors`", 'eval "$__conda_setup"', "python -c 'model.eval()'"),
    *("export KEY=other", "MY_KEY=1 train", "declare -x KEY"),
]
FILES = {"sh": ".bashrc", "csh": ".cshrc", "fish": "config.fish"}
TABLE = [  # claim, dialect, text, what is left, or None where it stays, and why
    ("a line of its own", "sh", "a=1\nexport KEY=s3cret\nalias x=y\n", "a=1\nalias x=y\n", ""),
    ("a variable between others", "sh", "export A=1 KEY=s3cret B=2\n", "export A=1 B=2\n", ""),
    ("the last variable of a line", "sh", "export A=1 KEY=s3cret\n", "export A=1\n", ""),
    ("the first variable, before a comment", "sh", "export KEY=s3cret B=2 # b\n", "export B=2 # b\n", ""),
    ("the only statement of an if", "sh", "if true; then\nexport KEY=s3cret\nfi\n", None, BLOCK),
    ("one of a loop", "sh", "for i in 1 2; do\n  KEY=s3cret\ndone\n", None, BLOCK),
    ("one of a function", "sh", "f() {\n KEY=s3cret\n}\n", None, BLOCK),
    ("one of a function with a keyword", "sh", "function f {\n KEY=s3cret\n}\n", None, BLOCK),
    ("below functions with a keyword", "sh", "function f {\n:\n}\nfunction g { :; }\nKEY=s3cret\n",
     "function f {\n:\n}\nfunction g { :; }\n", ""),
    ("below the output of a program", "sh", "source <(a)\nKEY=s3cret\n", "source <(a)\n", ""),
    ("below a subshell", "sh", "(a; b) \nKEY=s3cret\n", "(a; b) \n", ""),
    ("joined to a subshell", "sh", "(a) &&\nKEY=s3cret\n", None, JOINED),
    ("one of a case", "sh", "case $x in\n a*)\n KEY=s3cret\n ;;\nesac\n", None, BLOCK),
    ("one of a subshell", "sh", "(\nKEY=s3cret\n)\n", None, BLOCK),
    ("behind a condition", "sh", "true && export KEY=s3cret\n", None, JOINED),
    ("before a condition", "sh", "export KEY=s3cret && x\n", None, JOINED),
    ("the first of two commands", "sh", "export KEY=s3cret; export B=2\n", "export B=2\n", ""),
    ("the second of two commands", "sh", "export B=2; export KEY=s3cret\n", "export B=2\n", ""),
    ("the second of three", "sh", "A=1; KEY=s3cret; C=3\n", "A=1; C=3\n", ""),
    ("what is used below", "sh", "KEY=s3cret\ntrain $KEY\n", None, "uses $KEY"),
    ("what is used in braces", "sh", "KEY=s3cret\ntrain ${KEY:-no}\n", None, "uses $KEY"),
    ("another variable whose name begins so", "sh", "KEY=s3cret\ntrain $KEYS\n", "train $KEYS\n", ""),
    ("below a guard", "sh", '[ -z "$PS1" ] && return\nKEY=s3cret\n', '[ -z "$PS1" ] && return\n', ""),
    ("below another guard", "sh", "case $- in *i*) ;; *) return;; esac\nKEY=s3cret\n",
     "case $- in *i*) ;; *) return;; esac\n", ""),
    ("behind a document", "sh", "cat <<EOF\nKEY=s3cret\nEOF\nKEY=s3cret\n", "cat <<EOF\nKEY=s3cret\nEOF\n", ""),
    ("a quote that nothing closes", "sh", "it's\nKEY=s3cret\n", None, "a quote"),
    ("a block without an end", "sh", "KEY=s3cret\nif true; then\n", None, "a block"),
    ("a value over two lines", "sh", "KEY='s3cret\nmore'\n", None, "continues on the next line"),
    ("a line that goes on", "sh", "export \\\n KEY=s3cret\n", None, "continues on the next line"),
    ("an array", "sh", "KEY=(s3cret a)\n", "KEY=(s3cret a)\n", ""),
    ("below an array", "sh", "a=(x y)\nKEY=s3cret\nb+=(\n x # it's\n)\n", "a=(x y)\nb+=(\n x # it's\n)\n", ""),
    ("in an array", "sh", "a=(\nKEY=s3cret\n)\n", None, BLOCK),
    ("behind an array with a condition", "sh", "true && a=(x) KEY=s3cret\n", None, JOINED),
    ("before an array", "sh", "KEY=s3cret a=(x)\n", None, JOINED),
    ("below a here-string", "sh", 'read a b <<< "x y"\nKEY=s3cret\n', 'read a b <<< "x y"\n', ""),
    ("in a document whose end is indented", "sh", "cat <<E\n\tE\nKEY=s3cret\nE\n", "cat <<E\n\tE\nKEY=s3cret\nE\n", ""),
    ("below a document with tabs", "sh", "cat <<-E\n\tx\n\tE\nKEY=s3cret\n", "cat <<-E\n\tx\n\tE\n", ""),
    ("another value of the variable in csh", "csh", "setenv KEY s3cret\nsetenv KEY b\n", "setenv KEY b\n", ""),
    ("what csh uses", "csh", "setenv KEY s3cret\nif ($?KEY) train\n", None, "uses $KEY"),
    ("what fish asks for", "fish", "set -gx KEY s3cret\nset -q KEY; and train\n", None, "uses $KEY"),
    *((f"in use: {use}", "sh", f"KEY=s3cret\n{use}\n", None, "line 2 uses $KEY" if "\n" not in use else "line 4 uses")
      for use in USES),
    *((f"perhaps in use: {use}", "sh", f"{use}\nKEY=s3cret\n", None, f"line 1 {ANY}") for use in ANY_USES),
    *((f"not in use: {use}", "sh", f"export KEY=s3cret\n{use}\n", f"{use}\n", "") for use in NO_USES),
    ("the variable of one program", "sh", "KEY=s3cret train\n", "KEY=s3cret train\n", ""),
    ("line ends of another system", "sh", "export KEY=s3cret\r\nexport B=1\r\n", "export B=1\r\n", ""),
    ("a line of csh", "csh", "setenv KEY s3cret\nif ($?x) then\nsetenv B c\nendif\n",
     "if ($?x) then\nsetenv B c\nendif\n", ""),
    ("one of a block of csh", "csh", "if ( 1 ) then\nsetenv KEY s3cret\nendif\n", None, BLOCK),
    ("behind an if of csh", "csh", "if ($?x) setenv KEY s3cret\n", "if ($?x) setenv KEY s3cret\n", ""),
    ("a line of fish", "fish", "set -gx KEY s3cret\nset -gx B 1\n", "set -gx B 1\n", ""),
    ("one of a block of fish", "fish", "if status\nset -gx KEY s3cret\nend\n", None, BLOCK),
    ("before an 'and' of fish", "fish", "set -gx KEY s3cret; and echo\n", None, JOINED),
]  # fmt: skip


def is_key(source: str) -> bool:
    """Whether an assignment is the one that is meant."""
    return "KEY" in source and "s3cret" in source


@pytest.mark.parametrize(("claim", "dialect", "text", "left", "why"), TABLE, ids=[one[0] for one in TABLE])
def test_the_rest_of_the_file_stays(claim: str, dialect: str, text: str, left: str | None, why: str) -> None:
    got, problem = remove_assignments(text, FILES[dialect], is_key)
    assert got == (text if left is None else left)
    assert why in problem
    assert bool(problem) == bool(why)


LINES = st.sampled_from(
    [
        *("alias ll='ls -l'\n", "export A=1 B='two words'\n", "# KEY\n", "PATH=$HOME/bin:$PATH; export PATH\n", "\n"),
        *("if [ -n \"$PS1\" ]; then\n  A=3\nfi\n", "f() { echo \"$1\"; }\n", "cat <<'E' >/dev/null\nit's\nE\n"),
        *("export B=2; C=4 # here\n", "[ 1 = 1 ] && D=5\n", "case x in x) E=6;; esac\n"),
        "x=`echo hi`; y=$(echo ')')\n",
    ]
)  # fmt: skip
HELD = st.sampled_from(["export KEY=s3cret\n", "KEY=s3cret\n", "export Z=1 KEY=s3cret\n", "Z=1; KEY=s3cret; Y=2\n"])


@given(st.lists(LINES), HELD, st.lists(LINES))
def test_a_shell_is_left_with_all_other_variables(above: list[str], held: str, below: list[str]) -> None:
    text = "".join([*above, held, *below])
    left, problem = remove_assignments(text, ".bashrc", is_key)
    assert problem == ""
    assert "s3cret" not in left
    if len(above) + len(below) < 3:  # a shell takes its time
        assert variables(left) == [one for one in variables(text) if not one.startswith("KEY=")]


def variables(text: str) -> list[str]:
    """What a shell has after it."""
    done = subprocess.run(["sh", "-c", text + "\nset"], capture_output=True, text=True, env={}, check=True)
    return [line for line in done.stdout.splitlines() if line[:2] in ("A=", "B=", "C=", "D=", "E=", "Y=", "Z=", "KE")]
