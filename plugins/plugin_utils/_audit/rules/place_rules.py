# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules about links, folders, shells, scripts, files, quotas and purges."""

from __future__ import annotations

from .rule import UNPLACED, Rule

CHECKS = "audit checks"

PLACE_RULES = {
    "LNK-001": Rule(
        title="A link is missing",
        severity="high",
        owner="storage_links",
        why="A link from the home to the large storage does not exist. Programs that use it fail, or fill the home"
        " instead.",
        fix="`hpc-onboard onboard ACCOUNT --tags storage_links` creates it.",
    ),
    "LNK-002": Rule(
        title="A link points to another place",
        severity="high",
        owner="storage_links",
        why="The link exists but points to another place than declared, so data goes where you do not look for it. If"
        " the site has changed the value of its own variable ($SCRATCH), the finding names both places (cause *site*).",
        fix="If the new place is the right one, set it in the accounts file; else run `hpc-onboard onboard ACCOUNT"
        " --tags storage_links`. After a change by the site, first copy what you need: the old place will be"
        " emptied. Onboarding then changes the link if hpc-onboard created it and it was not changed since; it"
        " moves no data, and leaves a link of your own to you.",
    ),
    "LNK-003": Rule(
        title="The target of a link does not exist",
        severity="high",
        owner=f"storage_links, {CHECKS}",
        why="The file system is not mounted or was moved, or the folder was purged. Jobs fail at their first write. A"
        " link into a folder of one node or job (`/run`, `/tmp`, `/local`, `/var/tmp`, `/var/run`, `/dev/shm`,"
        " `$TMPDIR`) is not reported: its target may exist on another login node.",
        fix="Check with `ls -ld TARGET` on the account. Ask the site, or let `hpc-onboard onboard ACCOUNT` create the"
        " folder. `hpc-onboard fix ACCOUNT` removes a broken link that no role keeps.",
        found_class="broken",
        found_cause="site",
        advice="Point {place} to an existing target, or remove it.",
    ),
    "LNK-004": Rule(
        title="Something else is in the place of a link",
        severity="high",
        owner="storage_links",
        why="A real folder or file is where a link belongs. hpc-onboard does not touch it, because it is yours.",
        fix="Move it away (`mv ~/work ~/work.mine`), then run again, and copy what you want to keep through the new"
        " link.",
    ),
    "LNK-005": Rule(
        title="A link points to itself, or to storage that is purged",
        severity="medium",
        owner=CHECKS,
        why="The link points to itself, or to storage that the site purges although its name is that of something that"
        " should last. Files vanish without a message.",
        fix="Name a place that is not purged in the accounts file, then run `hpc-onboard onboard ACCOUNT --tags"
        " storage_links`.",
        found_class="broken",
        advice="Move what is behind {place} to storage that lasts, then point the link there.",
    ),
    "DIR-001": Rule(
        title="A folder is missing",
        severity="medium",
        owner="storage_links",
        why="A folder of yours in a storage area does not exist, and so the targets of links and caches are missing."
        " Purges remove empty folders, too.",
        fix="`hpc-onboard onboard ACCOUNT` creates it.",
    ),
    "DIR-002": Rule(
        title="A folder has another mode, group or type",
        severity="medium",
        owner="storage_links",
        why="A folder has another mode, group or type than declared: colleagues cannot read it, or too many users can.",
        fix="If you want the change, declare it; else run `hpc-onboard onboard ACCOUNT`.",
    ),
    "DIR-003": Rule(
        title="Your home, or your folder in a storage area, cannot be written",
        severity="high",
        owner=CHECKS,
        why="The project has ended, the area is frozen, its file system is mounted read-only on this login node, or its"
        " mode was changed. Jobs fail at their first write.",
        fix="Check with `touch FOLDER/x` on the account. Ask the site, or the manager of the project.",
        found_class="broken",
        found_cause="site",
        advice="Ask the site why {place} cannot be written.",
        cases={"own_mode": "You took the permission to write away: chmod u+w {place}"},
    ),
    "ENV-001": Rule(
        title="A cache is in the home",
        severity="medium",
        owner=CHECKS,
        why="A cache (Apptainer, enroot, pip, Hugging Face) is in the home, which is small and often slow. It fills the"
        " quota, and then no program can write, not even at login.",
        fix="`hpc-onboard onboard ACCOUNT` moves the cache. `hpc-onboard fix ACCOUNT` empties an old cache whose"
        " program makes it again and that no start-up file mentions. No program makes containers of enroot,"
        " packages of conda and data of wandb again: keep them, and move them with their own program.",
        advice="Move the cache with the variable that docs/rules.md names, then inspect {place}.",
        cases={
            "not_made_again": "Keep {place}: no program makes it again. To move it, use its own program (for enroot:"
            " enroot export, then enroot create)."
        },
    ),
    "ENV-002": Rule(
        title="The shell settings of hpc-onboard were changed",
        severity="medium",
        owner=f"shell_environment, {CHECKS}",
        why="The file of settings, or the line that reads it, is not as hpc-onboard wrote it. Shells then start with a"
        " part of the settings, and each type of shell with another part.",
        fix="Put your own lines outside of it. `hpc-onboard onboard ACCOUNT --tags shell_environment` restores the"
        " rest.",
        found_class="changed",
        advice="Move {place} into a start-up file of yours.",
    ),
    "ENV-003": Rule(
        title="A start-up file prints in shells that are not interactive",
        severity="medium",
        owner=CHECKS,
        why="A start-up file prints something even if no user logs in. This breaks `scp`, `rsync` and `sftp`, with"
        " messages that do not name the cause. An error in a start-up file counts as well: what is below it may not"
        " run.",
        fix="Print at a terminal only: `[[ $- == *i* ]] && echo ...`, or remove the line. For an error, run `ssh HOST"
        " true` and read what it prints.",
        advice="Let {place} print at a terminal only. If it is an error, correct the line.",
    ),
    "ENV-004": Rule(
        title="Start-up files take seconds, or end the shell",
        severity="low",
        owner=CHECKS,
        why="Every login waits for the start-up files, and so does each command over ssh and each step of a job that"
        " starts a shell. Where a start-up file exits, starts another program in the place of the shell, or sets -e, a"
        " command is not run or not to its end: scp, rsync and other programs fail.",
        fix="Measure with `time bash -lic exit` on the account. Load modules and conda where they are needed.",
        advice="Inspect the commands that {place} runs.",
    ),
    "ENV-005": Rule(
        title="A program is not on PATH, or another one comes before it",
        severity="medium",
        owner=CHECKS,
        why="A script of hpc-onboard is not found on PATH, or another program, an alias or a function of the same name"
        " comes before it. Then another version runs than you expect. The same holds for `sbatch`, `srun`, `salloc`,"
        " `enroot` and `apptainer`. Scripts for `sbatch` need not be on PATH. With the current folder on PATH, whoever"
        " can write to a folder can choose what you start there.",
        fix="Check with `type -a PROGRAM` on the account. If its folder is not on PATH, log in again, and look for what"
        " sets PATH after the line of hpc-onboard in your start-up file. If another program comes first, remove that"
        " program or its folder from PATH, or put it last.",
        found_class="changed",
        advice="Remove {place}, or its folder, from PATH, or put it after the folder of hpc-onboard's script.",
        cases={
            "not_on_path": "Log in again. If it is still missing, look for what sets PATH after the line of hpc-onboard"
            " in your start-up file, and add the folder there: export PATH={folder}:$PATH (in tcsh: set path = ("
            "{folder} $path)).",
            "path_replaced": "Keep what was on PATH in {place}: write export PATH=FOLDER:$PATH, or move the line above"
            " that of hpc-onboard.",
            "name_taken": "Remove the alias or the function from {place}, or give it another name.",
            "current_folder": "Remove the current folder (., or an empty entry) from PATH in {place}.",
        },
    ),
    "ENV-006": Rule(
        title="The shell settings of hpc-onboard are missing",
        severity="medium",
        owner="shell_environment",
        why="The file of settings, or the line that reads it, does not exist. Shells start with caches in the home and"
        " without your scripts on PATH.",
        fix="`hpc-onboard onboard ACCOUNT --tags shell_environment` writes it.",
    ),
    "ENV-007": Rule(
        title="A variable of hpc-onboard does not arrive in a shell",
        severity="medium",
        owner=CHECKS,
        why="A start-up file sets a variable after the line of hpc-onboard has set it, mostly because of a line from a"
        " tutorial, or unsets it, or returns before that line. A cache then goes to the home after all, for instance."
        " hpc-onboard compares a login shell, a command over ssh, a terminal and a batch job with its own file.",
        fix="Remove the line: `hpc-onboard fix ACCOUNT` does if nothing else depends on it. If you want its value,"
        " declare it in the accounts file. If the line points to a folder that is not empty, the finding names it:"
        " the folder stays, no program uses it without the line, and no later finding names it.",
        found_class="changed",
        advice="Remove the line from {place}, or declare its value in the accounts file.",
        cases={
            UNPLACED: "Find out what sets {place}: no start-up file of yours contains it (perhaps a module does). Then"
            " remove it there."
        },
    ),
    "ENV-008": Rule(
        title="Every user can write what is created in a shell",
        severity="medium",
        owner=CHECKS,
        why="The umask of a shell lets every user of the cluster write new files and folders.",
        fix="Remove the line that sets it, or write `umask 022` (027 keeps other users from reading as well).",
        advice="Remove the line, or write umask 022 in {place}.",
    ),
    "ENV-009": Rule(
        title="Another setting competes with hpc-onboard's",
        severity="low",
        owner=CHECKS,
        why="A start-up file sets a variable that one of hpc-onboard outranks (`HF_HOME`, `TRANSFORMERS_CACHE`,"
        " `XDG_CACHE_HOME`, `SINGULARITY_CACHEDIR`), so what was downloaded there is not found any more. Or the"
        " settings file of a tool (`enroot.config`, `environ.d`, `environment.d`, `pip.conf`, `.condarc`, `.npmrc`),"
        " one that a variable names (`PIP_CONFIG_FILE`, `CONDARC`), a job script or a project's settings (`.env`,"
        " `uv.toml`, `.vscode`) name another folder than hpc-onboard, a folder in the home where the site wants none,"
        " or one that does not exist. A service of systemd, a kernel of Jupyter or a script in `~/bin` whose program"
        " does not exist any more is reported, too.",
        fix="Remove the line. To keep using a folder of yours, declare it: `tool_caches_paths: {huggingface:"
        " /data/ada/hf}`, then run `hpc-onboard onboard ACCOUNT`. `hpc-onboard adopt ACCOUNT` finds such folders.",
        advice="Remove the line from {place}, or declare its folder in the accounts file (tool_caches_paths).",
    ),
    "ENV-010": Rule(
        title="A start-up file or a job script has carriage returns or a byte-order mark",
        severity="medium",
        owner=CHECKS,
        why="An editor of Windows ends lines with a carriage return and a line feed. A shell takes the carriage return"
        " for a part of the last word: variables have other values than you see. Slurm refuses such a job script."
        " The same holds for a byte-order mark at its beginning.",
        fix="Remove them: `sed -i 's/\\r$//; 1s/^\\xef\\xbb\\xbf//' FILE`.",
        advice="Remove them from {place}: sed -i 's/\\r$//; 1s/^\\xef\\xbb\\xbf//' FILE",
    ),
    "ENV-011": Rule(
        title="A start-up file changes how every command runs",
        severity="low",
        owner=CHECKS,
        why="A start-up file changes to another folder, limits the size of files, memory, time, open files or"
        " processes (`ulimit`), or sets a variable that changes what programs do (`CDPATH`, `GREP_OPTIONS`,"
        " `LD_PRELOAD`, `PYTHONHOME`, `GIT_DIR`, or a `TMPDIR` in the home). A command over ssh, `scp` with a relative"
        " path and a job then do something else, without a message.",
        fix="Remove the line, or do it at a terminal only: `[[ $- == *i* ]] && cd /data/ada`.",
        advice="Remove {place}, or do it at a terminal only.",
    ),
    "USE-001": Rule(
        title="The quota of space is nearly used up",
        severity="medium",
        owner=CHECKS,
        why="More than 90 % of the space is used. When it is full, writes fail in the middle of a file, and some"
        " programs do not report it.",
        fix="Check with `du -xh --max-depth=1 ~ | sort -h` on the account, and with the site's own quota command.",
        found_class="at_risk",
        found_cause="time",
        advice="Free space: {place}.",
    ),
    "USE-002": Rule(
        title="The quota of files is nearly used up",
        severity="medium",
        owner=CHECKS,
        why="You have more than 90 % of the files that you may have. Programs report a full disk although there is"
        " space.",
        fix="Find them with `du --inodes -x --max-depth=1 ~ | sort -n`. Environments and caches are the usual cause; a"
        " container image is one file.",
        found_class="at_risk",
        found_cause="time",
        advice="Remove files: {place}.",
    ),
    "USE-004": Rule(
        title="The home is more than half full",
        severity="low",
        owner=CHECKS,
        why="More than half of the home is used. The finding names its largest folders, so that there is time to move"
        " them.",
        fix="Move what is large to a storage area, or remove it.",
        found_class="at_risk",
        found_cause="time",
        advice="Move the largest folders to a storage area, or remove what you no longer need.",
    ),
    "USE-003": Rule(
        title="Files were purged, or will be soon",
        severity="medium",
        owner=CHECKS,
        why="The site deletes files here that were not used for some days, and some are due or already deleted."
        " Touching them is against the rules of most sites.",
        fix="Copy what you need to storage that lasts: `rsync -a SOURCE TARGET`.",
        found_class="at_risk",
        found_cause="time",
        advice="Copy what you still need to storage that lasts: {place}. Make again what was deleted.",
    ),
}
