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
        owner="the role `storage_links`",
        why="A link from the home directory to a storage area does not exist. Programs that use the link fail, or fill"
        " the home directory.",
        fix="`hpc-onboard onboard ACCOUNT --tags storage_links` creates the link.",
    ),
    "LNK-002": Rule(
        title="A link does not point to its declared target",
        severity="high",
        owner="the role `storage_links`",
        why="The link points to a target that differs from the declared one, so your data may go to a folder that you"
        " do not expect. If the site has changed its own variable (such as `$SCRATCH`), the finding names both targets"
        " and gives the cause *site*.",
        fix="If the link's current target is right, set it in the accounts file. Otherwise, run `hpc-onboard onboard"
        " ACCOUNT --tags storage_links`. This command moves no data. It changes only links that hpc-onboard created"
        " and that have not been changed since. If the site has changed its variable, first copy the data that you"
        " need, because the site will empty the old folder.",
    ),
    "LNK-003": Rule(
        title="The target of a link does not exist",
        severity="high",
        owner=f"the role `storage_links` and {CHECKS}",
        why="The link's target was purged, or its file system was moved or is not mounted. A job fails when it first"
        " writes to the target. The audit does not report links to a folder of one node or job (`/run`, `/tmp`,"
        " `/local`, `/var/tmp`, `/var/run`, `/dev/shm`, `$TMPDIR`), because such a target may exist on another login"
        " node.",
        fix="Check the link's target with `ls -ld TARGET` on the account. If the target is missing, ask the site, or"
        " run `hpc-onboard onboard ACCOUNT`, which creates the folder. `hpc-onboard fix ACCOUNT` removes a broken link"
        " that no role creates.",
        found_class="broken",
        found_cause="site",
        advice="Change {place} so that it points to an existing target, or remove it.",
    ),
    "LNK-004": Rule(
        title="A file or folder has the name of a declared link",
        severity="high",
        owner="the role `storage_links`",
        why="A file or folder has the path of a declared link. hpc-onboard did not create this file or folder, so it"
        " does not change it.",
        fix="Move the existing file or folder away (`mv ~/work ~/work.mine`), then run hpc-onboard again to create the"
        " link. After that, copy the files that you want to keep to the link's target.",
    ),
    "LNK-005": Rule(
        title="A link points to itself or to purged storage",
        severity="medium",
        owner=CHECKS,
        why="The link points to itself, or its name suggests permanent storage although the site purges the target."
        " The site deletes files on purged storage without notice.",
        fix="In the accounts file, point the link to a folder that is not purged. Then run `hpc-onboard onboard"
        " ACCOUNT --tags storage_links`.",
        found_class="broken",
        advice="Move the files from the target of {place} to permanent storage, then point the link to the new folder.",
    ),
    "DIR-001": Rule(
        title="A folder is missing",
        severity="medium",
        owner="the role `storage_links`",
        why="Your folder in a storage area does not exist, so links and caches that use it have no target. When a site"
        " purges files, it may also remove empty folders.",
        fix="`hpc-onboard onboard ACCOUNT` creates the folder.",
    ),
    "DIR-002": Rule(
        title="A folder has the wrong mode, group or type",
        severity="medium",
        owner="the role `storage_links`",
        why="The mode, group or type of a folder differs from its declaration. As a result, your colleagues may have"
        " no access to the folder, or other users may have access.",
        fix="If you want to keep the folder's current mode or group, declare it in the accounts file. Otherwise, run"
        " `hpc-onboard onboard ACCOUNT`.",
    ),
    "DIR-003": Rule(
        title="Your home directory, or your folder in a storage area, is not writable",
        severity="high",
        owner=CHECKS,
        why="You cannot write to your home directory or to your folder in a storage area. Possible causes: the project"
        " has ended, the area is frozen, the file system is mounted read-only on this login node, or the mode was"
        " changed. Jobs fail when they first write to the folder.",
        fix="Run `touch FOLDER/x` on the account to check whether you can write to the folder. If you cannot, ask the"
        " site or the manager of the project.",
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
        " Once the cache has filled the quota, no program can write to the home directory, not even at login.",
        fix="`hpc-onboard onboard ACCOUNT` sets a new folder for the cache. `hpc-onboard fix ACCOUNT` empties the old"
        " cache if its program can create the content again and no start-up file mentions the folder. enroot"
        " containers, conda packages and wandb data cannot be created again, so move them with their own program.",
        advice="Set a new folder for the cache with the variable that docs/rules.md names, then check {place}.",
        cases={
            "not_made_again": "Keep {place}, because no program can create it again. To move it, use its own program"
            " (for enroot: enroot export, then enroot create)."
        },
    ),
    "ENV-002": Rule(
        title="The shell settings of hpc-onboard were changed",
        severity="medium",
        owner=f"the role `shell_environment` and {CHECKS}",
        why="The settings file of hpc-onboard, or the line that reads it, was changed. As a result, shells may start"
        " with only some of the settings, and the settings of bash, zsh and fish may differ.",
        fix="Move the lines that you added to hpc-onboard's settings file to a file of your own. Then run `hpc-onboard"
        " onboard ACCOUNT --tags shell_environment`, which restores the settings file.",
        found_class="changed",
        advice="Move {place} to your own start-up file.",
    ),
    "ENV-003": Rule(
        title="A start-up file prints text in non-interactive shells",
        severity="medium",
        owner=CHECKS,
        why="A start-up file prints text in non-interactive shells. This text breaks `scp`, `rsync` and `sftp`, and"
        " their error messages do not name the cause. The rule also reports an error in a start-up file, because the"
        " lines after the error may not run.",
        fix="Remove the line that prints, or print only at a terminal: `[[ $- == *i* ]] && echo ...`. If the finding"
        " reports an error, run `ssh HOST true` and read the error message.",
        advice="Change {place} so that it prints only at a terminal. If the finding is an error, correct the line.",
    ),
    "ENV-004": Rule(
        title="Start-up files are slow, or end the shell",
        severity="low",
        owner=CHECKS,
        why="Slow start-up files delay each login, each command over ssh, and each step of a job that starts a shell."
        " If a start-up file exits, runs `set -e`, or replaces the shell with another program, commands may not run,"
        " and `scp`, `rsync` and other programs fail.",
        fix="Measure how long your start-up files take with `time bash -lic exit` on the account. Load modules and"
        " conda only in the jobs and scripts that need them.",
        advice="Check the commands that {place} runs.",
    ),
    "ENV-005": Rule(
        title="A program is not on PATH, or a different one comes first",
        severity="medium",
        owner=CHECKS,
        why="A script of hpc-onboard is not on PATH, or a different program, alias or function of the same name takes"
        " precedence. You may then run the wrong version. The audit also checks `sbatch`, `srun`, `salloc`, `enroot`"
        " and `apptainer`. Scripts for `sbatch` need not be on PATH. The rule also reports the current folder on PATH:"
        " anyone who can write to a folder can then choose the programs that you start in it.",
        fix="Run `type -a PROGRAM` on the account to see which program comes first. If the script's folder is not on"
        " PATH, log in again. If the folder is still missing from PATH, look in your start-up file below hpc-onboard's"
        " line for a line that replaces PATH. If a different program takes precedence, remove that program, or move its"
        " folder to the end of PATH.",
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
        owner="the role `shell_environment`",
        why="The settings file of hpc-onboard, or the line that reads it, does not exist. Without hpc-onboard's"
        " settings, caches are in the home directory, and your scripts are not on PATH.",
        fix="`hpc-onboard onboard ACCOUNT --tags shell_environment` writes the settings file and the line that reads"
        " it.",
    ),
    "ENV-007": Rule(
        title="A variable of hpc-onboard is missing or different in a shell",
        severity="medium",
        owner=CHECKS,
        why="A variable of hpc-onboard is missing or has a different value in a shell. A start-up file sets or unsets"
        " the variable below hpc-onboard's line, or returns before that line. Code of this kind often comes from a"
        " tutorial. As a result, a cache may be in the home directory again. The audit checks a login shell, an"
        " interactive shell, a command over ssh and a batch job.",
        fix="Remove the line that the finding names, or run `hpc-onboard fix ACCOUNT`, which removes the line if"
        " nothing else depends on it. To keep the line's value, declare the value in the accounts file. If the line"
        " points to a folder with files, the finding names the folder. Without the line, no program uses this folder,"
        " and later audits do not report it.",
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
        why="The umask of a shell lets every user of the cluster write to the files and folders that you create.",
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
        " downloads. The rule also covers tool settings (`enroot.config`, `environ.d`, `environment.d`, `pip.conf`,"
        " `.condarc`, `.npmrc`), files that a variable names (`PIP_CONFIG_FILE`, `CONDARC`), job scripts, and project"
        " settings (`.env`, `uv.toml`, `.vscode`). It reports a folder in them that differs from hpc-onboard's folder,"
        " does not exist, or is in the home directory although the site does not want caches there. It also reports a"
        " systemd service, a Jupyter kernel or a script in `~/bin` whose program does not exist.",
        fix="Remove the line that conflicts with a setting of hpc-onboard. Or keep your own folder: declare it with"
        " `tool_caches_paths: {huggingface: /data/ada/hf}`, then run `hpc-onboard onboard ACCOUNT`. `hpc-onboard adopt"
        " ACCOUNT` finds such folders.",
        advice="Remove the line from {place}, or declare its folder in the accounts file (tool_caches_paths).",
    ),
    "ENV-010": Rule(
        title="A start-up file or a job script has carriage returns or a byte-order mark",
        severity="medium",
        owner=CHECKS,
        why="Windows editors end each line with a carriage return and a line feed. The shell reads the carriage return"
        " as part of the last word, so variables do not have the values that the file shows. Slurm refuses a job"
        " script with carriage returns. A byte-order mark at the beginning of the file causes the same problems.",
        fix="Remove the carriage returns and the byte-order mark from the file: `sed -i 's/\\r$//;"
        " 1s/^\\xef\\xbb\\xbf//' FILE`.",
        advice="Remove these characters from {place}: sed -i 's/\\r$//; 1s/^\\xef\\xbb\\xbf//' FILE",
    ),
    "ENV-011": Rule(
        title="A start-up file changes how every command runs",
        severity="low",
        owner=CHECKS,
        why="A start-up file changes the current folder, sets a limit with `ulimit` (file size, memory, time, open"
        " files or processes), or sets a variable that changes how programs run (`CDPATH`, `GREP_OPTIONS`,"
        " `LD_PRELOAD`, `PYTHONHOME`, `GIT_DIR`, or a `TMPDIR` in the home directory). Commands over ssh, `scp` with a"
        " relative path, and jobs then behave differently, without any warning.",
        fix="Remove the line that the finding names from the start-up file, or run it only at a terminal: `[[ $- =="
        " *i* ]] && cd /data/ada`.",
        advice="Remove {place}, or run it only at a terminal.",
    ),
    "USE-001": Rule(
        title="Your disk quota is nearly used up",
        severity="medium",
        owner=CHECKS,
        why="You use more than 90 % of your disk quota. When the quota is full, programs cannot finish writing their"
        " files, and some of them report no error.",
        fix="List your largest folders with `du -xh --max-depth=1 ~ | sort -h` on the account, and run the site's own"
        " quota command.",
        found_class="at_risk",
        found_cause="time",
        advice="Free space: {place}.",
    ),
    "USE-002": Rule(
        title="Your file quota is nearly used up",
        severity="medium",
        owner=CHECKS,
        why="You use more than 90 % of the number of files that your quota allows. When this quota is full, programs"
        " report a full disk although there is still free space.",
        fix="Run `du --inodes -x --max-depth=1 ~ | sort -n` on the account to find the folders with the most files."
        " These are usually environments and caches. A container image is a single file.",
        found_class="at_risk",
        found_cause="time",
        advice="Remove files: {place}.",
    ),
    "USE-004": Rule(
        title="The home directory is more than half full",
        severity="low",
        owner=CHECKS,
        why="More than half of the home directory is used. The finding names the largest folders. Move them before the"
        " home directory is full.",
        fix="Move large folders from the home directory to a storage area, or remove them.",
        found_class="at_risk",
        found_cause="time",
        advice="Move the largest folders to a storage area, or remove what you no longer need.",
    ),
    "USE-003": Rule(
        title="Files were purged, or will be purged soon",
        severity="medium",
        owner=CHECKS,
        why="The site deletes files in this storage area if they have not been used for a number of days. Some of your"
        " files have been deleted, or will be deleted soon. Most sites forbid running `touch` on files only to keep"
        " them.",
        fix="Copy the files that you need to permanent storage: `rsync -a SOURCE TARGET`.",
        found_class="at_risk",
        found_cause="time",
        advice="Copy the files that you need to permanent storage: {place}. Create deleted files again.",
    ),
}
