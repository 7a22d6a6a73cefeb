# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What runs or is trusted as the account: nobody else can change it, and what is usual is not reported."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from account_scene import HOME, Folder, Link, Plain, Scene, Thing
from ansible_collections.hpc.onboard.plugins.module_utils._audit_checks import trusted_files
from ansible_collections.hpc.onboard.plugins.module_utils._audit_checks.trusted_files import TrustedFiles
from ansible_collections.hpc.onboard.plugins.module_utils._audit_checks.trusted_places import find_open_servers
from audit_check_runs import check_as_nobody, run_check
from forked import NOBODY

from tests.effort import turns

EVERY = "every user has write permission (mode %s)"


@turns(3)
@pytest.mark.parametrize(
    ("tree", "found"),
    [
        ({"~/.bashrc": Plain(b"", 0o644), "~/.ssh": Folder(0o700), "~/bin": Folder(0o755)}, {}),
        ({"~/.bashrc": Plain(b"", 0o666)}, {"SEC-010 ~/.bashrc": EVERY % "0666"}),
        ({"~/.profile": Plain(b"", 0o664)}, {"SEC-010 ~/.profile": "the group has write permission (mode 0664)"}),
        ({"~/.bashrc": Plain(b". ~/.more\n"), "~/.more": Plain(b"", 0o666)}, {"SEC-010 ~/.more": EVERY % "0666"}),
        (
            {"~/.ssh": Folder(0o777), "~/.ssh/authorized_keys": Plain(b"", 0o666)},
            {"SEC-010 ~/.ssh": EVERY % "0777"},
        ),
        ({"~/bin": Folder(), "~/bin/usrun.sh": Plain(b"", 0o757)}, {"SEC-010 ~/bin/usrun.sh": EVERY % "0757"}),
        (
            {"~/bin": Folder(), "~/bin/sh": Plain(b"", 0o4755)},
            {"SEC-010 ~/bin/sh": "every user who starts this program gets the permissions of your account (setuid)"},
        ),
        (
            {"~/.config": Folder(), "~/.config/hpc.onboard": Folder(0o777)},
            {"SEC-010 ~/.config/hpc.onboard": EVERY % "0777"},
        ),
        (
            {"/opt": Folder(), "/opt/mine": Folder(), "/opt/mine/run": Plain(b"", 0o777)},
            {"SEC-010 /opt/mine/run": EVERY % "0777"},
        ),
        (
            {f"~/.local{part}": Folder() for part in ("", "/lib", "/lib/python3.9", "/lib/python3.9/site-packages")}
            | {f"~/.local/lib/python3.9/site-packages/{name}": Plain(b"", 0o666) for name in ("a.pth", "a.py")},
            {"SEC-010 ~/.local/lib/python3.9/site-packages/a.pth": EVERY % "0666"},
        ),
        (
            {f"~/.vim{part}": Folder() for part in ("", "/pack", "/pack/a", "/pack/a/start", "/pack/a/start/b")}
            | {"~/.vim/pack/a/start/b/b.vim": Plain(b"", 0o666)},
            {"SEC-010 ~/.vim/pack/a/start/b/b.vim": EVERY % "0666"},
        ),
        (
            {f"~/{name}": Folder() for name in (".config", ".config/systemd", ".config/systemd/user", "dots")}
            | {"~/dots/a.conf": Plain(b"", 0o666), "~/.config/systemd/user/b.service.d": Link("../../../dots")},
            {"SEC-010 ~/dots/a.conf": EVERY % "0666"},
        ),
        ({"~/data.txt": Plain(b"", 0o666), "~/notes": Folder(0o777)}, {}),
        ({"~/.ssh": Folder(0o770)}, {"SEC-010 ~/.ssh": "the group has write permission (mode 0770)"}),
        (
            {"~/run": Plain(b"", 0o2755)},
            {"SEC-010 ~/run": "every user who starts this program gets the permissions of your group (setgid)"},
        ),
        (
            {"~/.bashrc": Plain(b"export PYTHONSTARTUP=~/.py\n"), "~/.py": Plain(b"", 0o666)},
            {"SEC-010 ~/.py": EVERY % "0666"},
        ),
        (
            {"~/.zshrc": Plain(b"path=($HOME/cron $path)\n"), "~/cron": Folder(0o777)},
            {"SEC-010 ~/cron": EVERY % "0777"},
        ),
        (
            {"~/.gitconfig": Plain(b"[core]\n\thooksPath = ~/h\n"), "~/h": Folder(), "~/h/pre-push": Plain(b"", 0o777)},
            {"SEC-010 ~/h/pre-push": EVERY % "0777"},
        ),
        (
            {
                "~/.bashrc": Plain(b'alias g=~/gpu\neval "$(~/mk)"\n'),
                "~/gpu": Plain(b"", 0o777),
                "~/mk": Plain(b"", 0o757),
            },
            {"SEC-010 ~/gpu": EVERY % "0777", "SEC-010 ~/mk": EVERY % "0757"},
        ),
        (
            {
                "~/.zshrc": Plain(b"fpath+=(~/.zf)\nmodule use ~/mods\n"),
                "~/.zf": Folder(0o777),
                "~/mods": Folder(0o777),
            },
            {"SEC-010 ~/.zf": EVERY % "0777", "SEC-010 ~/mods": EVERY % "0777"},
        ),
        (
            {
                "~/.config": Folder(),
                "~/.config/systemd": Folder(),
                "~/.config/systemd/user": Folder(),
                "~/.config/systemd/user/a.service": Plain(
                    b"EnvironmentFile=-%h/a.env\nExecStart=/bin/sh -c '%h/a.sh'\n"
                ),
                "~/a.env": Plain(b"", 0o666),
                "~/a.sh": Plain(b"", 0o777),
                "~/.config/systemd/user/a.service.d": Folder(),
                "~/.config/systemd/user/a.service.d/b.conf": Plain(b"", 0o666),
            },
            {
                "SEC-010 ~/.config/systemd/user/a.service.d/b.conf": EVERY % "0666",
                "SEC-010 ~/a.env": EVERY % "0666",
                "SEC-010 ~/a.sh": EVERY % "0777",
            },
        ),
        (
            {
                "~/.ssh": Folder(0o700),
                "~/.ssh/config": Plain(b"Include more\n"),
                "~/.ssh/more": Plain(b"", 0o666),
                "~/.ssh/id.pub": Plain(b"", 0o666),
                "~/.ssh/authorized_keys": Plain(b'command="~/deploy" ssh-ed25519 A x\n'),
                "~/deploy": Plain(b"", 0o777),
            },
            {"SEC-010 ~/.ssh/more": EVERY % "0666", "SEC-010 ~/deploy": EVERY % "0777"},
        ),
        (
            {"~/.gitconfig": Plain(b"[alias]\n\tx = !~/g\n"), "~/g": Plain(b"", 0o777)},
            {"SEC-010 ~/g": EVERY % "0777"},
        ),
        (
            {
                "~/.bashrc": Plain(
                    b"for part in ~/parts/*.sh; do . $part; done\nfor i in 1 2; do ls ~/notes/*; done\n"
                ),
                "~/parts": Folder(),
                "~/parts/a.sh": Plain(b"", 0o646),
                "~/notes": Folder(0o777),
            },
            {"SEC-010 ~/parts/a.sh": EVERY % "0646"},
        ),
        (
            {"~/.cshrc": Plain(b"if (-r ~/c) source ~/c\n"), "~/c": Plain(b"", 0o666)},
            {"SEC-010 ~/c": EVERY % "0666"},
        ),
        (
            {
                "/opt": Folder(),
                "/opt/mine": Folder(),
                "/opt/x": Folder(0o777),
                "/opt/x/y": Folder(),
                "/opt/x/y/bin": Folder(),
            }
            | {"~/.bashrc": Plain(b"PATH=/opt/x/y/bin:$PATH\n")},
            {"SEC-010 /opt/x": EVERY % "0777"},
        ),
        (
            {"~/.bashrc": Plain(b"export DATA=~/notes\n. ~/x\n"), "~/notes": Folder(0o777), "~/x": Plain(b"", 0o644)},
            {},
        ),
        (
            {
                "~/.bashrc": Plain(b"# PATH=~/notes\nfind . -path ~/notes\necho $PATH >~/notes\n"),
                "~/notes": Folder(0o777),
            },
            {},
        ),
    ],
)
def test_what_others_can_change_is_found(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, tree: dict[str, Thing], found: dict[str, str]
) -> None:
    monkeypatch.setattr(trusted_files, "has_own_group", lambda _path: False)
    scene.environment["PATH"] = f"/opt/mine:{HOME}/bin:/usr/bin"
    scene.make(tree)
    if "~/.config/hpc.onboard" in tree:
        scene.make({"~/.config/hpc.onboard/env.sh": Plain(b"")})
    report = run_check(scene, TrustedFiles)
    assert report.found == found
    fixes = report.document["evidence"].get("fixes", {})
    assert set(fixes) == {place for place in found if "set" not in found[place]}


LATER = {  # file -> lines that make its program run or load ~/my/x.sh
    "~/.bashrc": (
        'NVM_DIR="$HOME/my"; [ -s "$NVM_DIR/x.sh" ] && \\. "$NVM_DIR/x.sh"',
        "source ${XDG_CONFIG_HOME:-$HOME/.config}/../my/x.sh",
        "source ~/my/*.sh",
        "command . ~/my/x.sh",
        "alias x='source ~/my/x.sh'",
        "export R_PROFILE_USER=~/my/x.sh",
        "export LESSOPEN='|~/my/x.sh %s'",
        "ml use ~/my",
        "export JULIA_DEPOT_PATH=~/my",
    ),
    "~/.zshrc": ("fpath=(\n  # mine\n  ~/my\n  $fpath\n)", "for f (~/my/*.sh) source $f", "fpath[1,0]=~/my"),
    "~/.cshrc": ("alias precmd ~/my/x.sh",),
    "~/.config/fish/config.fish": (
        "test -f ~/my/x.sh; and source ~/my/x.sh",
        "set --export --prepend PATH ~/my",
        "set -a fish_user_paths ~/my",
    ),
    "~/.gitconfig": ("[diff]\n external = ~/my/x.sh", '[filter "x"]\n clean = ~/my/x.sh'),
    "~/.ssh/config": ("Match host a exec ~/my/x.sh", "Host *\n PKCS11Provider ~/my/x.sh"),
    "~/.ssh/rc": ("~/my/x.sh",),
    "~/.tmux.conf": ("set -g status-right '#(~/my/x.sh)'", "bind x run-shell ~/my/x.sh"),
    "~/.vimrc": ("set runtimepath^=~/my", "exe 'source ~/my/x.sh'"),
    "~/.emacs.d/init.el": ('(load "~/my/x.sh")',),
    "~/.forward": ('"|~/my/x.sh"',),
    "~/.Renviron": ("R_LIBS_USER=~/my",),
    "~/.screenrc": ("backtick 1 0 0 ~/my/x.sh",),
    "~/.local/lib/python3.9/site-packages/x.pth": (f"{HOME}/my",),
    "~/.local/share/jupyter/kernels/a/kernel.json": (f'{{"argv": ["{HOME}/my/x.sh"]}}',),
    "~/.pam_environment": ("PATH DEFAULT=@{HOME}/my:${PATH}",),
    "~/.local/share/systemd/user/a.service": ("ExecStart=%h/my/x.sh",),
}


@pytest.mark.parametrize(("path", "line"), [(path, line) for path, lines in LATER.items() for line in lines])
def test_what_a_program_runs_is_found_in_each_form(scene: Scene, path: str, line: str) -> None:
    for file, content, mode in ((path, line + "\n", 0o644), ("~/my/x.sh", "", 0o777), ("~/my/notes.txt", "", 0o644)):
        scene.at(file).parent.mkdir(parents=True, exist_ok=True)
        scene.make({file: Plain(content.encode(), mode)})
    assert run_check(scene, TrustedFiles).found == {"SEC-010 ~/my/x.sh": EVERY % "0777"}


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("~/.bashrc", "export DATA_DIR=~/my\n# source ~/my/x.sh\nexport HF_HOME=~/my\nls ~/my/notes.txt"),
        ("~/.vimrc", '" source ~/my/x.sh'),
        ("~/.tmux.conf", "# run-shell ~/my/x.sh"),
        ("~/.ssh/config", "# ProxyCommand ~/my/x.sh"),
        ("~/.npmrc", "cache=~/my"),
    ],
)
def test_what_no_program_runs_is_none(scene: Scene, path: str, line: str) -> None:
    scene.make({"~/.ssh": Folder(0o700), path: Plain(line.encode() + b"\n"), "~/my": Folder()})
    scene.make({"~/my/x.sh": Plain(b"", 0o777), "~/my/notes.txt": Plain(b"", 0o666)})
    assert run_check(scene, TrustedFiles).found == {}


def test_a_door_that_is_open_is_found(scene: Scene) -> None:
    scene.make({
        "~/.rhosts": Plain(b"host ada\n+ +\n", 0o600),
        "~/.jupyter": Folder(),
        "~/.jupyter/jupyter_server_config.py": Plain(b"c.ServerApp.port = 1\nc.ServerApp.token = ''\n"),
        "~/.jupyter/jupyter_lab_config.py": Plain(b"# c.ServerApp.token = ''\nc.ServerApp.token = 'x'\n"),
        "~/.bash_aliases": Plain(b"alias jl='jupyter lab --ServerApp.token=\"\"'\n# jupyter --ServerApp.token=''\n"),
        "~/.vnc": Folder(),
        "~/.vnc/turbovncserver.conf": Plain(b'$securityTypes = "None";\n'),
    })  # fmt: skip
    found = [
        "SEC-010 ~/.bash_aliases:1",
        "SEC-010 ~/.jupyter/jupyter_server_config.py:2",
        "SEC-010 ~/.rhosts:2",
        "SEC-010 ~/.vnc/turbovncserver.conf:1",
    ]
    assert list(run_check(scene, TrustedFiles).found) == found


@pytest.mark.parametrize(
    ("line", "is_open"),
    [
        ("jupyter lab --ServerApp.token=''", True),
        ("jupyter lab --NotebookApp.token= --no-browser", True),
        ('jupyter lab --IdentityProvider.token "" &', True),
        ("srun jupyter lab --LabApp.token= \\", True),
        ("export JUPYTER_TOKEN=''", True),
        ("setenv JUPYTER_TOKEN ''", True),
        ("vncserver :1 -securitytypes none", True),
        ("vncserver :1 -SecurityTypes=VncAuth,None", True),
        ("x11vnc -display :0 -nopw", True),
        ("jupyter lab --ServerApp.token='$TOKEN'", False),
        ("jupyter lab --ServerApp.token=$TOKEN", False),
        ("export JUPYTER_TOKEN=$(openssl rand -hex 16)", False),
        ("vncserver :1 -SecurityTypes VncAuth", False),
        ("# jupyter lab --ServerApp.token=''", False),
        ("ls  # jupyter lab --ServerApp.token=''", False),
    ],
)
def test_an_option_that_opens_a_server_is_known(line: str, is_open: bool) -> None:
    assert [number for number, _why in find_open_servers(f"cd x\n{line}\n")] == [2] * is_open


def test_a_group_of_the_account_alone_is_no_other_user() -> None:
    assert trusted_files.has_own_group("/root" if os.getuid() == 0 else os.path.expanduser("~"))


def test_a_folder_that_may_not_be_entered_hides_nothing_else() -> None:
    with tempfile.TemporaryDirectory() as home:
        for name, mode in (("listed/x", 0o755), ("own/tool", 0o777), ("run/tool", 0o4755)):
            file = Path(home) / name
            file.parent.mkdir()
            file.write_bytes(b"")
            for path in (Path(home), file.parent, file):
                os.chown(path, NOBODY if os.getuid() == 0 else -1, -1)
            file.chmod(mode)
        (Path(home) / "listed").chmod(0o444)
        found, _unseen = check_as_nobody(TrustedFiles, home, {"PATH": f"/usr/bin:{home}/listed/bin:{home}/own"})
        (Path(home) / "listed").chmod(0o755)
        assert list(found) == ["SEC-010 ~/own/tool", "SEC-010 ~/run/tool"]
