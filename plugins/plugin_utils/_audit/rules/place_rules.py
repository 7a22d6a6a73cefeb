# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules about links, folders, start-up files, caches, quotas and purges."""

from __future__ import annotations

from .rule import UNPLACED, Rule

CHECKS = "audit checks"

PLACE_RULES = {
    "LNK-001": Rule(
        title="A link is missing",
        severity="high",
        owner="storage_links",
        why="A link from the home directory to the large storage does not exist. Programs that use the link fail, or"
        " fill the home directory.",
        fix="`hpc-onboard onboard ACCOUNT --tags storage_links` creates it.",
    ),
    "LNK-002": Rule(
        title="A link does not point to its declared target",
        severity="high",
        owner="storage_links",
        why="The link points to a target that differs from the declared one. So your data is written to a folder that"
        " you do not expect. If the site has changed the value of its own variable (such as `$SCRATCH`), the finding"
        " names both targets, and its cause is *site*.",
        fix="If the current target is right, set it in the accounts file. Otherwise, run `hpc-onboard onboard ACCOUNT"
        " --tags storage_links`. It changes only links that hpc-onboard created and that were not changed since then."
        " It moves no data, and it does not change your own links. If the site has changed its variable, first copy the"
        " data that you need, because the site will empty the old folder.",
    ),
    "LNK-003": Rule(
        title="The target of a link does not exist",
        severity="high",
        owner=f"storage_links, {CHECKS}",
        why="The file system of the target is not mounted or was moved, or the target was purged. A job fails when it"
        " first writes to the target. A link to a folder of one node or job (`/run`, `/tmp`, `/local`, `/var/tmp`,"
        " `/var/run`, `/dev/shm`, `$TMPDIR`) is not reported, because its target may exist on another login node.",
        fix="Check the target with `ls -ld TARGET` on the account. Ask the site, or run `hpc-onboard onboard ACCOUNT`,"
        " which creates the folder. `hpc-onboard fix ACCOUNT` removes a broken link that no role creates.",
        found_class="broken",
        found_cause="site",
        advice="Change {place} so that it points to an existing target, or remove it.",
    ),
    "LNK-004": Rule(
        title="A file or folder has the name of a declared link",
        severity="high",
        owner="storage_links",
        why="A file or folder has the path of a declared link. hpc-onboard does not change it, because it did not"
        " create it.",
        fix="Move it away (`mv ~/work ~/work.mine`), then run hpc-onboard again. After that, copy the files that you"
        " want to keep through the new link.",
    ),
    "LNK-005": Rule(
        title="A link points to itself, or to storage that is purged",
        severity="medium",
        owner=CHECKS,
        why="The link points to itself, or its name suggests permanent storage but its target is purged by the site."
        " The site deletes files on such storage without a message.",
        fix="In the accounts file, set a folder that is not purged. Then run `hpc-onboard onboard ACCOUNT --tags"
        " storage_links`.",
        found_class="broken",
        advice="Move the files from the target of {place} to permanent storage, then point the link to the new folder.",
    ),
    "DIR-001": Rule(
        title="A folder is missing",
        severity="medium",
        owner="storage_links",
        why="Your folder in a storage area does not exist, so the targets of links and caches do not exist either. A"
        " purge by the site also removes empty folders.",
        fix="`hpc-onboard onboard ACCOUNT` creates the folder.",
    ),
    "DIR-002": Rule(
        title="A folder has a wrong mode, group or type",
        severity="medium",
        owner="storage_links",
        why="The mode, group or type of a folder differs from the declared one. As a result, your colleagues cannot"
        " read the folder, or other users can.",
        fix="If the change is intended, declare it in the accounts file. Otherwise, run `hpc-onboard onboard ACCOUNT`.",
    ),
    "DIR-003": Rule(
        title="Your home directory, or your folder in a storage area, is not writable",
        severity="high",
        owner=CHECKS,
        why="You cannot write to your home directory or to your folder in a storage area. The possible causes are that"
        " the project has ended, the area is frozen, the file system is mounted read-only on this login node, or the"
        " mode was changed. Jobs fail when they first write.",
        fix="Check with `touch FOLDER/x` on the account. Ask the site, or the manager of the project.",
        found_class="broken",
        found_cause="site",
        advice="Ask the site why {place} is not writable.",
        cases={"own_mode": "You removed your own write permission. Restore it: chmod u+w {place}"},
    ),
    "ENV-001": Rule(
        title="A cache is in the home directory",
        severity="medium",
        owner=CHECKS,
        why="A cache (Apptainer, enroot, pip, Hugging Face) is in the home directory, which is small and often slow."
        " The cache fills the quota. After that, no program can write to the home directory, not even at login.",
        fix="`hpc-onboard onboard ACCOUNT` sets a new folder for the cache. `hpc-onboard fix ACCOUNT` empties the old"
        " cache, if its program can create the content again and no start-up file mentions the folder. Containers of"
        " enroot, packages of conda and data of wandb cannot be created again. Keep them, and move them with their own"
        " program.",
        advice="Set a new folder for the cache with the variable that docs/rules.md names, then check {place}.",
        cases={
            "not_made_again": "Keep {place}, because no program can create it again. To move it, use its own program"
            " (for enroot: enroot export, then enroot create)."
        },
    ),
    "ENV-002": Rule(
        title="The shell settings of hpc-onboard were changed",
        severity="medium",
        owner=f"shell_environment, {CHECKS}",
        why="The settings file of hpc-onboard, or the line that reads it, was changed. Shells then start with only some"
        " of the settings, and bash, zsh and the others may have different ones.",
        fix="Move your own lines to another file. Then run `hpc-onboard onboard ACCOUNT --tags shell_environment`,"
        " which restores the settings file.",
        found_class="changed",
        advice="Move {place} to your own start-up file.",
    ),
    "ENV-003": Rule(
        title="A start-up file prints in non-interactive shells",
        severity="medium",
        owner=CHECKS,
        why="A start-up file prints something in non-interactive shells. This breaks `scp`, `rsync` and `sftp`, and"
        " their error messages do not name the cause. An error in a start-up file is reported too, because the lines"
        " after it may not run.",
        fix="Remove the line, or print only at a terminal: `[[ $- == *i* ]] && echo ...`. For an error, run `ssh HOST"
        " true` and read the error message.",
        advice="Change {place} so that it prints only at a terminal. If the finding is an error, correct the line.",
    ),
    "ENV-004": Rule(
        title="Start-up files take seconds, or end the shell",
        severity="low",
        owner=CHECKS,
        why="Start-up files delay each login, each command over ssh, and each step of a job that starts a shell. A"
        " start-up file that exits, sets -e, or replaces the shell with another program can stop commands, so that scp,"
        " rsync and other programs fail.",
        fix="Measure the time with `time bash -lic exit` on the account. Load modules and conda only in the jobs and"
        " scripts that need them.",
        advice="Check the commands that {place} runs.",
    ),
    "ENV-005": Rule(
        title="A program is not on PATH, or a different one comes first",
        severity="medium",
        owner=CHECKS,
        why="A script of hpc-onboard is not on PATH, or a different program, alias or function of the same name comes"
        " first. You then run a different version than you expect. The audit also checks `sbatch`, `srun`, `salloc`,"
        " `enroot` and `apptainer`. Scripts for `sbatch` need not be on PATH. If the current folder is on PATH, anyone"
        " who can write to a folder can choose the programs that you start in it.",
        fix="Check with `type -a PROGRAM` on the account. If the script's folder is not on PATH, log in again. If it"
        " is still missing, look in your start-up file for a line that replaces PATH, below the line of hpc-onboard."
        " If a different program comes first, remove it, or move its folder to the end of PATH.",
        found_class="changed",
        advice="Remove {place}, or remove its folder from PATH, or put the folder after the folder of hpc-onboard's"
        " script.",
        cases={
            "not_on_path": "Log in again. If the script is still not on PATH, look in your start-up file for a line"
            " that replaces PATH, below the line of hpc-onboard. Add the folder in that line: export"
            " PATH={folder}:$PATH (in tcsh: set path = ({folder} $path)).",
            "path_replaced": "Keep the earlier value of PATH in {place}: write export PATH=FOLDER:$PATH, or move the"
            " line above the line of hpc-onboard.",
            "name_taken": "Remove the alias or the function from {place}, or rename it.",
            "current_folder": "Remove the current folder (., or an empty entry) from PATH in {place}.",
        },
    ),
    "ENV-006": Rule(
        title="The shell settings of hpc-onboard are missing",
        severity="medium",
        owner="shell_environment",
        why="The settings file of hpc-onboard, or the line that reads it, does not exist. Shells then use caches in the"
        " home directory, and your scripts are not on PATH.",
        fix="`hpc-onboard onboard ACCOUNT --tags shell_environment` writes the file and the line.",
    ),
    "ENV-007": Rule(
        title="A variable of hpc-onboard is missing or different in a shell",
        severity="medium",
        owner=CHECKS,
        why="A variable of hpc-onboard is missing or has a different value in a shell. A start-up file sets or unsets"
        " it after the line of hpc-onboard, or returns before that line. Often, such a line comes from a tutorial. As a"
        " result, a cache may be in the home directory again. The audit checks a login shell, an interactive shell, a"
        " command over ssh and a batch job.",
        fix="Remove the line. `hpc-onboard fix ACCOUNT` removes it if nothing else depends on it. To keep the value of"
        " the line, declare it in the accounts file. If the line points to a folder with files, the finding names the"
        " folder. Without the line, no program uses this folder, and later audits do not report it.",
        found_class="changed",
        advice="Remove the line from {place}, or declare its value in the accounts file.",
        cases={
            UNPLACED: "Find out what sets {place}: none of your start-up files does, but perhaps a module does. Then"
            " remove this setting."
        },
    ),
    "ENV-008": Rule(
        title="Every user can change the files that you create",
        severity="medium",
        owner=CHECKS,
        why="Because of the umask of a shell, every user of the cluster can write to your new files and folders.",
        fix="Remove the line that sets the umask, or write `umask 022`. With `umask 027`, other users cannot read your"
        " new files either.",
        advice="Remove the line, or write umask 022 in {place}.",
    ),
    "ENV-009": Rule(
        title="A setting conflicts with a setting of hpc-onboard",
        severity="low",
        owner=CHECKS,
        why="A start-up file sets a variable (`HF_HOME`, `TRANSFORMERS_CACHE`, `XDG_CACHE_HOME`,"
        " `SINGULARITY_CACHEDIR`), but a variable of hpc-onboard takes precedence. Programs then do not find earlier"
        " downloads. This rule also covers the settings file of a tool (`enroot.config`, `environ.d`, `environment.d`,"
        " `pip.conf`, `.condarc`, `.npmrc`), a file that a variable names (`PIP_CONFIG_FILE`, `CONDARC`), a job"
        " script, and the settings of a project (`.env`, `uv.toml`, `.vscode`). The folder in such a file differs from"
        " the folder of hpc-onboard, does not exist, or is in the home directory of a site that does not want caches"
        " there. The rule also reports a systemd service, a Jupyter kernel or a script in `~/bin` whose program does"
        " not exist.",
        fix="Remove the line. To keep your folder, declare it: `tool_caches_paths: {huggingface: /data/ada/hf}`."
        " Then run `hpc-onboard onboard ACCOUNT`. `hpc-onboard adopt ACCOUNT` finds such folders.",
        advice="Remove the line from {place}, or declare its folder in the accounts file (tool_caches_paths).",
    ),
    "ENV-010": Rule(
        title="A start-up file or a job script has carriage returns or a byte-order mark",
        severity="medium",
        owner=CHECKS,
        why="A Windows editor ends each line with a carriage return and a line feed. The shell reads the carriage"
        " return as part of the last word, so variables have different values than the file shows. Slurm refuses such a"
        " job script. A byte-order mark at the beginning of the file causes the same problems.",
        fix="Remove these characters: `sed -i 's/\\r$//; 1s/^\\xef\\xbb\\xbf//' FILE`.",
        advice="Remove these characters from {place}: sed -i 's/\\r$//; 1s/^\\xef\\xbb\\xbf//' FILE",
    ),
    "ENV-011": Rule(
        title="A start-up file changes how every command runs",
        severity="low",
        owner=CHECKS,
        why="A start-up file changes the current folder, sets a limit for the size of files, memory, time, open files"
        " or processes (`ulimit`), or sets a variable that changes how programs run (`CDPATH`, `GREP_OPTIONS`,"
        " `LD_PRELOAD`, `PYTHONHOME`, `GIT_DIR`, or a `TMPDIR` in the home directory). Commands over ssh, `scp` with a"
        " relative path, and jobs then behave differently, without a warning.",
        fix="Remove the line, or run it only at a terminal: `[[ $- == *i* ]] && cd /data/ada`.",
        advice="Remove {place}, or run it only at a terminal.",
    ),
    "USE-001": Rule(
        title="The quota of space is nearly used up",
        severity="medium",
        owner=CHECKS,
        why="More than 90 % of your space is used. When the quota is full, programs cannot finish writing their files,"
        " and some do not report it.",
        fix="Check with `du -xh --max-depth=1 ~ | sort -h` on the account, and with the site's own quota command.",
        found_class="at_risk",
        found_cause="time",
        advice="Free space: {place}.",
    ),
    "USE-002": Rule(
        title="The quota of files is nearly used up",
        severity="medium",
        owner=CHECKS,
        why="You use more than 90 % of your quota of files. When the quota is full, programs report a full disk"
        " although there is free space.",
        fix="Find the folders with `du --inodes -x --max-depth=1 ~ | sort -n` on the account. Usually they are"
        " environments and caches. A container image is only one file.",
        found_class="at_risk",
        found_cause="time",
        advice="Remove files: {place}.",
    ),
    "USE-004": Rule(
        title="The home directory is more than half full",
        severity="low",
        owner=CHECKS,
        why="More than half of the home directory is used. The finding names its largest folders. Move them before the"
        " home directory is full.",
        fix="Move large folders to a storage area, or remove them.",
        found_class="at_risk",
        found_cause="time",
        advice="Move the largest folders to a storage area, or remove what you no longer need.",
    ),
    "USE-003": Rule(
        title="Files were purged, or will be purged soon",
        severity="medium",
        owner=CHECKS,
        why="The site deletes files in this storage area that were not used for a number of days. Some of your files"
        " were deleted or will be deleted soon. Most sites forbid running `touch` on files only to keep them.",
        fix="Copy the files that you need to permanent storage: `rsync -a SOURCE TARGET`.",
        found_class="at_risk",
        found_cause="time",
        advice="Copy the files that you need to permanent storage: {place}. Create deleted files again.",
    ),
}
