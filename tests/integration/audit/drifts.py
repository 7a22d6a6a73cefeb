# SPDX-License-Identifier: GPL-3.0-or-later
"""What can happen to an account that was set up, one thing at a time, and what the audit is to say of it."""

from __future__ import annotations

from .drift import ENROOT, JSON, Drift
from .late_drifts import LATE

DAINTS = ".config/enroot/.credentials"
ENV = ".config/hpc.onboard/env.sh"
SECTION = "sed -i 's/MY_TEAM=.*/MY_TEAM=\"other\"/' " + ENV


def _enroot(file: str) -> list[Drift]:
    """What can happen to the file that enroot reads."""
    folder = file.rpartition("/")[0]
    return [
        Drift("a key file that all can read", ("SEC-001 changed hand critical",), f"chmod 644 {file}"),
        Drift("a key file that its group can write", ("SEC-001 changed hand critical",), f"chmod 620 {file}"),
        Drift("a key file that its owner cannot write", ("SEC-001 changed hand low",), f"chmod 400 {file}"),
        Drift("a key's folder that is open", ("SEC-002 changed hand critical",), f"chmod 755 {folder}"),
        Drift("an access list on a key file", ("SEC-003 changed hand critical",), f"setfacl -m u:daemon:r {file}"),
        Drift("another key", ("KEY-002 changed hand high",) * 2, f"sed -i s/kkkk/jjjj/ {file}"),
        Drift("another key for one machine", ("KEY-002 changed hand high",), f"sed -i 1s/kkkk/jjjj/ {file}"),
        Drift("a key file that is gone", ("KEY-001 missing hand high",) * 2, f"rm {file}"),
        Drift("a key's folder that is gone", ("KEY-001 missing hand high",) * 2, f"rm -r {folder}"),
        Drift("an empty key file", ("KEY-001 missing hand high",) * 2, f": > {file}"),
        Drift("one entry that is gone", ("KEY-001 missing hand high",), f"sed -i 1d {file}"),
        Drift("a line twice", ("KEY-003 changed hand high",), f"sed -i '1{{{{p}}}}' {file}"),
        Drift("an entry that is indented", ("KEY-004 changed hand high",), f"sed -i '1s/^/  /' {file}"),
        Drift("words in another order", ("KEY-004 changed hand high",),
              f"sed -i -E '1s/(login \\S+) (password \\S+)/\\2 \\1/' {file}"),
        Drift("somebody's entry before ours", ("KEY-003 broken hand high", "KEY-004 changed hand high"),
              f"sed -i '1i machine nvcr.io login me password mine' {file}", by_hand=f"sed -i '/login me/d' {file}"),
        Drift("a default before ours", ("KEY-004 changed hand high",) * 2,
              f"sed -i '1i default login me password mine' {file}"),
        Drift("line ends of another system", ("KEY-004 broken hand high",), f"sed -i 's/$/\\r/' {file}",
              by_hand=f"sed -i 's/\\r$//' {file}"),
        Drift("an entry over three lines", ("KEY-004 broken hand high",),
              f"sed -i -E '1s/ (login|password)/\\n\\1/g' {file}", by_hand=f"sed -i 1,3d {file}"),
        Drift("a byte-order mark", ("KEY-004 broken hand high",) * 3,
              f"sed -i '1s/^/\\xef\\xbb\\xbf/' {file}", by_hand=f"sed -i '1s/^\\xef\\xbb\\xbf//' {file}"),
        Drift("a key file that is a link", ("KEY-004 broken hand high",) * 2,
              f"mv {file} mine; ln -s {{home}}/mine {file}", by_hand=f"rm {file}; mv mine {file}"),
        Drift("a key file that is a pipe", ("KEY-004 broken hand high",) * 2,
              f"rm {file}; mkfifo {file}", by_hand=f"rm {file}"),
        Drift("a key file that is a folder", ("KEY-004 broken hand high",) * 2,
              f"rm {file}; mkdir {file}", by_hand=f"rmdir {file}"),
        Drift("a key's folder that is a link", ("KEY-004 broken hand high",) * 2,
              f"mv {folder} theirs; ln -s {{home}}/theirs {folder}", by_hand=f"rm {folder}; mv theirs {folder}"),
    ]  # fmt: skip


def _link(name: str, target: str, elsewhere: str) -> list[Drift]:
    """What can happen to a link to a storage area."""
    return [
        Drift(f"the link {name} is gone", ("LNK-001 missing hand high",), f"rm {name}"),
        Drift(f"the link {name} leads elsewhere", ("LNK-002 changed hand high",), f"ln -sfn {elsewhere} {name}"),
        Drift(f"the link {name} leads to itself", ("LNK-002 changed hand high",), f"ln -sfn {name} {name}"),
        Drift(f"a folder in place of the link {name}", ("LNK-004 changed hand high",), f"rm {name}; mkdir {name}"),
        Drift(f"a file in place of the link {name}", ("LNK-004 changed hand high",), f"rm {name}; echo a > {name}"),
        Drift(f"the storage of {name} has moved", ("LNK-003 broken site high",),
              site=f"mv {target} {target}.moved", by_hand=f"mv {target}.moved {target}"),
    ]  # fmt: skip


def _own(**variables: str) -> dict[str, object]:
    """What the accounts file says of the account at LRZ: these variables of its own, and no other section."""
    own = {"shell_environment_variables": variables} if variables else {}
    return {"vars": own, "without": ["container_caches", "tool_caches", "launchers"]}


OWN = _own(MY_TEAM="one")
LRZ = [
    *_enroot(ENROOT),
    Drift("a section that was edited", ("ENV-002 changed hand medium",), SECTION,
          by_hand=f"sed -i '/>>> .*own/,/<<< .*own/d' {ENV}"),
    Drift("a file of settings that is gone", ("ENV-006 missing hand medium",), f"rm {ENV}"),
    Drift("the folder of settings is gone, and the receipt with it",
          ("ENV-006 missing hand medium", "RUN-004 missing hand medium"), "rm -r .config/hpc.onboard"),
    Drift("a receipt that is gone", ("RUN-004 missing hand medium",), "rm .config/hpc.onboard/receipt.json"),
    Drift("a receipt that claims what we never make", ("RUN-004 changed hand medium",),
          "sed -i 's/\"path\": \"[^\"]*/\"path\": \"~\\/thesis/' .config/hpc.onboard/receipt.json",
          by_hand="rm .config/hpc.onboard/receipt.json"),
    Drift("the line in the start-up file is gone", ("ENV-006 missing hand medium",),
          "sed -i '/# hpc.onboard$/d' .bashrc"),
    Drift("the start-up file is gone", ("ENV-006 missing hand medium",), "rm .bashrc"),
    Drift("the line in the start-up file was edited", ("ENV-002 changed hand medium",),
          "sed -i 's/.*# hpc.onboard$/. .\\/mine # hpc.onboard/' .bashrc",
          by_hand="sed -i '/# hpc.onboard$/d' .bashrc"),
    Drift("another value in the accounts file", ("ENV-002 changed spec medium",),
          settings=_own(MY_TEAM="two")),
    Drift("one variable more in the accounts file", ("ENV-002 changed spec medium",),
          settings=_own(MY_TEAM="one", MORE="two")),
    Drift("no variable any more in the accounts file", ("ORP-001 orphan spec low",), settings=_own()),
]  # fmt: skip

DFKI = [
    Drift("a folder for caches is gone", ("DIR-001 missing hand medium",), "rmdir /data/{user}/enroot/cache"),
    Drift("a file in place of a folder", ("DIR-002 changed hand medium", "RUN-001 unknown unknown info"),
          "rmdir /data/{user}/enroot/tmp; echo a > /data/{user}/enroot/tmp", by_hand="rm /data/{user}/enroot/tmp"),
    *_link("data", "/data/{user}", "/data")[:5],
    Drift("the script is gone", ("SCR-001 missing hand medium",), "rm bin/usrun.sh"),
    Drift("the script is not executable", ("SCR-002 changed hand medium",), "chmod 644 bin/usrun.sh"),
    Drift("the script was edited", ("SCR-002 changed hand medium",), "echo '# mine' >> bin/usrun.sh"),
    Drift("another script of its name", ("SCR-002 changed hand medium",), "echo '#!/bin/sh' > bin/usrun.sh"),
    Drift("a link in place of the script", ("SCR-002 changed hand medium",), "ln -sf /bin/true bin/usrun.sh"),
    Drift("conda is gone", ("PKG-005 missing hand high",), "rm -r /data/{user}/miniconda3"),
    Drift("conda's mark is gone", ("PKG-005 broken hand high", "RUN-001 unknown unknown info"),
          "rm /data/{user}/miniconda3/.hpc.onboard",
          by_hand="mv /data/{user}/miniconda3 /data/{user}/miniconda3.mine"),
    Drift("an older conda", ("PKG-004 changed hand medium",),
          "sed -i 's/26[0-9.-]*/25.1.1-1/' /data/{user}/miniconda3/.hpc.onboard"),
    Drift("another kind of conda", ("PKG-004 changed hand medium", "RUN-001 unknown unknown info"),
          "sed -i 's/miniconda/miniforge/' /data/{user}/miniconda3/.hpc.onboard",
          by_hand="sed -i 's/miniforge/miniconda/' /data/{user}/miniconda3/.hpc.onboard"),
    Drift("conda's settings were edited", ("PKG-003 changed hand medium", "RUN-001 unknown unknown info"),
          "echo 'channels: [defaults]' >> /data/{user}/miniconda3/condarc.d/hpc.onboard.yml",
          by_hand="rm /data/{user}/miniconda3/condarc.d/hpc.onboard.yml"),
    Drift("conda's settings are gone", ("PKG-003 changed hand medium", "PKG-003 unmanaged hand medium"),
          "rm /data/{user}/miniconda3/condarc.d/hpc.onboard.yml"),
    Drift("an environment is gone", ("PKG-005 missing hand high",), "rm -r /data/{user}/miniconda3/envs/demo"),
]  # fmt: skip

PEGASUS = [
    Drift("the storage was emptied", ("DIR-001 missing hand medium",) * 4 + ("LNK-003 broken site high",),
          "rm -r /netscratch/{user}", by_hand="true"),
    Drift("the site's storage is gone", ("DIR-001 broken site medium", *("RUN-001 unknown unknown info",) * 5),
          site="mv /netscratch/{user} /tmp/{user}; umount -l /netscratch; rmdir /netscratch",
          by_hand="mkdir /netscratch; mount -t tmpfs -o mode=1777 testbed /netscratch;"
                  " mv /tmp/{user} /netscratch/{user}"),
    Drift("the line for zsh is gone", ("ENV-006 missing hand medium",) * 2, "rm .zshenv"),
]  # fmt: skip

WILSON = [
    Drift("an open login file", ("SEC-001 changed hand critical",), f"chmod 664 {JSON}"),
    Drift("a home in which all can write", ("SEC-002 changed hand critical",), "chmod 777 {home}", place="~"),
    Drift("a program that answers in place of the login file", ("KEY-004 changed hand high",),
          f"sed -i '1s/{{{{/{{{{\"credsStore\": \"pass\", /' {JSON}",
          by_hand=f"sed -i 's/\"credsStore\": \"pass\", //' {JSON}"),
    Drift("an open folder of the login file", ("SEC-002 changed hand critical",), "chmod 750 .apptainer"),
    Drift("a login file that is damaged", ("KEY-004 broken hand high",), f"sed -i 's/}}}}//' {JSON}",
          by_hand=f"rm {JSON}"),
    Drift("a login file that is no object", ("KEY-004 broken hand high",), f"echo '[1]' > {JSON}",
          by_hand=f"rm {JSON}"),
    Drift("a login file without an entry", ("KEY-001 missing hand high",),
          f"echo '{{{{\"auths\": {{{{}}}}}}}}' > {JSON}"),
    Drift("another login for the registry", ("KEY-002 changed hand high", "KEY-004 changed hand high"),
          f"echo '{{{{\"auths\": {{{{\"nvcr.io\": {{{{\"auth\": \"bWU6bWluZQ==\"}}}}}}}}}}}}' > {JSON}"),
    Drift("a login that cannot be read", ("KEY-002 changed hand high", "KEY-004 changed hand high"),
          f"echo '{{{{\"auths\": {{{{\"nvcr.io\": {{{{\"auth\": \"!!\"}}}}}}}}}}}}' > {JSON}"),
    *_link("work", "/work1/{project}/{user}", "/work1")[:2],
    Drift("the project's storage is gone", ("DIR-001 broken site medium", "RUN-001 unknown unknown info"),
          site="mv /work1/{project} /work1/away", by_hand="mv /work1/away /work1/{project}"),
    Drift("the project's folder is frozen", ("DIR-003 broken site high",),
          site="chmod 555 /work1/{project}/{user}", by_hand="chmod 755 /work1/{project}/{user}"),
    Drift("the line for tcsh is gone", ("ENV-006 missing hand medium",), "rm -f .tcshrc .cshrc"),
]  # fmt: skip

NARVAL = [
    Drift("another token of wandb", ("KEY-002 changed hand high",), "sed -i s/wwww/vvvv/ .netrc"),
    Drift("wandb twice", ("KEY-003 changed hand high",), "cat .netrc > n; cat n >> .netrc; rm n"),
    Drift("a default before wandb", ("KEY-004 changed hand high",), "sed -i '1i default login a password b' .netrc"),
    Drift("no token of Hugging Face", ("KEY-001 missing hand high",), "rm .cache/huggingface/token"),
    Drift("a token of Hugging Face that is two words", ("KEY-002 changed hand high",),
          "echo 'a b' > .cache/huggingface/token", by_hand="rm .cache/huggingface/token"),
    Drift("another key of the ngc program", ("KEY-002 changed hand high",), "sed -i s/kkkk/jjjj/ .ngc/config"),
    Drift("a copy that the ngc program left", ("SEC-006 changed hand high",),
          "sed s/kkkk/jjjj/ .ngc/config > .ngc/config.BAK; chmod 600 .ngc/config.BAK"),
]  # fmt: skip

SCRATCH = "/capstor/scratch/cscs/{user}"
DAINT = [
    *[one for one in _enroot(DAINTS) if one.name in ("a key file that all can read", "a key's folder that is open")],
    *_link("scratch", SCRATCH, "/capstor")[:2],
    Drift("purged storage is gone", ("LNK-003 broken time high",),
          site=f"mv {SCRATCH} {SCRATCH}.moved", by_hand=f"mv {SCRATCH}.moved {SCRATCH}"),
    Drift("another file for the keys in the accounts file",
          ("KEY-001 missing spec high",) * 2 + ("ORP-001 orphan spec low",) * 2 + ("KEY-009 unmanaged hand medium",),
          settings={"vars": {"enroot_credentials_path": "~/.enroot/.credentials"},
                    "without": ["container_caches", "tool_caches", "launchers"]}),
]  # fmt: skip

NARVAL += [one for one in WILSON if one.do and JSON in one.do][:4]
NARVAL += [Drift("the settings' link to another file", ("KEY-004 broken hand high",),
                 f"mv {JSON} j; ln -s ../j {JSON}", by_hand=f"rm {JSON}; mv j {JSON}")]  # fmt: skip

EARLY = {"lrz": LRZ, "dfki": DFKI, "pegasus": PEGASUS, "wilson": WILSON, "daint": DAINT, "narval": NARVAL}
DRIFTS = {cluster: [*drifts, *LATE[cluster]] for cluster, drifts in EARLY.items()}
