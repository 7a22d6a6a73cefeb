# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules about links, folders, start-up files and caches."""

from __future__ import annotations

from .rule import CHECKS, UNPLACED, Rule

PLACE_RULES = {
    "LNK-001": Rule(
        title="A link is missing",
        severity="high",
        reported_by="the Ansible role `storage_links`",
        why="Your settings declare a link in the home directory that points to a storage area, but the link does not"
        " exist. Programs that use the link fail, or fill the home directory with their data.",
        fix="Run `hpc-onboard onboard ACCOUNT --tags storage_links` to create the missing link.",
    ),
    "LNK-002": Rule(
        title="A link does not point to its declared target",
        severity="high",
        reported_by="the Ansible role `storage_links`",
        why="A link points to a target that differs from the target in your settings, so your data may go to a folder"
        " that you do not expect. If the site has changed a variable in the declared target (such as `$SCRATCH`), the"
        " finding names both targets and gives *site* as the cause.",
        fix="If the link's current target is right, set this target in the accounts file. Otherwise, run `hpc-onboard"
        " onboard ACCOUNT --tags storage_links`, which changes the link but moves no data. The command changes only"
        " links that hpc-onboard created and that have not been changed since, so rename any other link first. If the"
        " site has moved your folder, first copy the files that you need from the link's current target, because the"
        " site may delete these files.",
    ),
    "LNK-003": Rule(
        title="The target of a link does not exist",
        severity="high",
        reported_by=f"the Ansible role `storage_links` and by {CHECKS}",
        why="The target of a link was deleted, often because the site purges old files, or the target's file system"
        " was moved or is not mounted. Jobs fail when they first write to the missing target. The audit does not"
        " report links to folders of a single node or job (`/run`, `/tmp`, `/local`, `/var/tmp`, `/var/run`,"
        " `/dev/shm`, `$TMPDIR`), because the target of such a link may exist on another login node.",
        fix="Check the link's target with `ls -ld TARGET` on the account. If a role of hpc-onboard created the link,"
        " run `hpc-onboard onboard ACCOUNT`, which creates the folder that the link points to. If this command"
        " fails, ask the site where your folder on this storage area is. If no role created the link, run `hpc-onboard"
        " fix ACCOUNT`, which removes the link.",
        found_class="broken",
        found_cause="site",
        advice="Change {place} so that it points to an existing target, or remove the link.",
    ),
    "LNK-004": Rule(
        title="A file or folder has the name of a declared link",
        severity="high",
        reported_by="the Ansible role `storage_links`",
        why="A file or folder already exists at the path of a link that your settings declare. hpc-onboard does not"
        " change this file or folder, because hpc-onboard did not create it.",
        fix="Rename the existing file or folder (`mv -n ~/work ~/work.mine`), then run `hpc-onboard onboard ACCOUNT`"
        " to create the link. Finally, copy the files that you want to keep into the link's target.",
    ),
    "LNK-005": Rule(
        title="A link points to itself or to purged storage",
        severity="medium",
        reported_by=CHECKS,
        why="Either a link points to itself, or the link's target is on storage that the site purges, although the"
        " link's name (such as `data`, `models` or `project`) suggests permanent storage. On such storage, the site"
        " deletes old files without notice.",
        fix="If the link points to itself, run `hpc-onboard fix ACCOUNT`, which removes the link. Otherwise, move your"
        " files from the link's target to permanent storage. Then point the link to the new folder (`ln -sfn"
        " FOLDER LINK`).",
        found_class="broken",
        advice="If {place} points to itself, remove the link. Otherwise, move the files from the link's target to"
        " permanent storage, then point the link to the new folder.",
    ),
    "DIR-001": Rule(
        title="A folder is missing",
        severity="medium",
        reported_by="the Ansible role `storage_links`",
        why="Your folder in a storage area does not exist. Links to the folder are therefore broken, and programs"
        " cannot use caches in it. A site that deletes old files may also remove empty folders.",
        fix="Run `hpc-onboard onboard ACCOUNT` to create the missing folder.",
    ),
    "DIR-002": Rule(
        title="A folder has the wrong mode, group or type",
        severity="medium",
        reported_by="the Ansible role `storage_links`",
        why="The mode, group or type of a folder differs from your settings. As a result, your colleagues may have no"
        " access to the folder, or other users may have access to it.",
        fix="If you want to keep the folder's current mode or group, declare it in the accounts file. Otherwise, run"
        " `hpc-onboard onboard ACCOUNT`, which restores the declared mode and group. If a file already exists at the"
        " path of the folder, rename the file (`mv -n FILE FILE.mine`) before you run the command.",
    ),
    "DIR-003": Rule(
        title="Your home directory, or your folder in a storage area, is not writable",
        severity="high",
        reported_by=CHECKS,
        owner="site",
        why="You cannot write to your home directory or to your folder in a storage area. Possible causes are the end"
        " of the project, a frozen storage area, a file system that is mounted read-only on this login node, and a"
        " changed mode of the folder. Jobs fail when they first write to the folder.",
        fix='Run `test -w FOLDER || echo "not writable"` on the account to check whether you can write to the'
        " folder. If you removed your own write permission, run `chmod u+w FOLDER`. Otherwise, ask the site or the"
        " manager of the project why the folder is not writable.",
        found_class="broken",
        found_cause="site",
        advice="Ask the site why {place} is not writable.",
        cases={"own_mode": "You removed your own write permission. Restore it: chmod u+w {place}"},
    ),
    "ENV-001": Rule(
        title="A cache is in the home directory",
        severity="medium",
        reported_by=CHECKS,
        why="A tool's cache (for example of Apptainer, enroot, pip or Hugging Face) is in the home directory, which"
        " is small and often slow. Once the cache has filled the quota, programs can no longer write to the home"
        " directory. Even a login can then fail. If the site wants caches in a different place, the rule reports each"
        " cache of at least 1 MB (50 MB for a tool that has no variable for the cache's folder). At any site, the"
        " rule reports a cache of at least 1 GB or 20,000 files, and a cache that uses at least 5% of the space or of"
        " the number of files that the cluster's profile allows in the home directory. The same limits apply to"
        " Python environments and other tool data in the home directory.",
        fix="Run `hpc-onboard onboard ACCOUNT`, which sets a variable of each tool (such as `APPTAINER_CACHEDIR`,"
        " `ENROOT_CACHE_PATH`, `PIP_CACHE_DIR` or `HF_HOME`) to a new cache folder in a storage area. Then run"
        " `hpc-onboard fix ACCOUNT`, which empties a cache in the home directory if its tool can create the content"
        " again and no start-up file mentions the cache's folder. No tool can create containers, conda packages or"
        " wandb data again, so move these with enroot, conda or wandb.",
        advice="Set the tool's variable to a new folder for the cache (see ENV-001 in docs/rules.md for examples). If"
        " you do not need the content of {place}, remove it.",
        cases={
            "not_made_again": "Keep {place}, because no program can create its content again. To move the content, use"
            " the program that wrote it (for enroot: enroot export, then enroot create)."
        },
    ),
    "ENV-002": Rule(
        title="The shell settings of hpc-onboard were changed",
        severity="medium",
        reported_by=f"the Ansible role `shell_environment` and by {CHECKS}",
        why="Either hpc-onboard's settings file for shells (such as `~/.config/hpc.onboard/env.sh`) was changed, or"
        " the line in a start-up file that reads the settings file was changed. As a result, shells may start with"
        " only some of the settings, and the settings of bash, zsh and fish may differ.",
        fix="Move the lines that you added to hpc-onboard's settings file to your own start-up file, such as"
        " `~/.bashrc`. Then run `hpc-onboard onboard ACCOUNT --tags shell_environment` to restore the settings file.",
        found_class="changed",
        advice="Move the line at {place} to your own start-up file.",
    ),
    "ENV-003": Rule(
        title="A start-up file prints text in non-interactive shells",
        severity="medium",
        reported_by=CHECKS,
        why="A start-up file of your shell prints text in non-interactive shells. This text breaks `scp`, `rsync` and"
        " `sftp`, and the error messages of these programs do not name the cause. The rule also reports `set -x` and"
        " `set -v`, which print each command, and a `~/.ssh/rc` file that prints text. In addition, the rule reports"
        " errors in start-up files, even errors that occur only at a terminal, because the lines after an error may"
        " not run.",
        fix="Remove the command that prints text, or run the command only in interactive shells, for example with `[["
        " $- == *i* ]] && echo TEXT`. If the finding reports an error in a start-up file, run `ssh HOST true`, where"
        " HOST is the login node. Then correct the line that the error message names.",
        advice="Change {place} so that it prints text only in interactive shells. If the finding reports an error,"
        " correct the error.",
    ),
    "ENV-004": Rule(
        title="Start-up files are slow, or end the shell",
        severity="low",
        reported_by=CHECKS,
        why="The start-up files of your shell took more than 2 seconds in each of two measurements, or they end the"
        " shell. Slow start-up files delay each login, terminal, command over ssh, and job step that starts a shell."
        " If a start-up file exits, runs `set -e` or `set -u` (zsh: `setopt err_exit` or `nounset`), or replaces the"
        " shell with another program, commands may not run, and `scp`, `rsync` and other programs that use ssh fail."
        " If a shell that starts with a command does not run this command at all, the severity is high. The rule also"
        " reports a line that replaces every interactive shell (such as `exec zsh`) without a test for a terminal,"
        " because jobs with `srun --pty` start such shells, too. In tcsh and fish, the rule does not report `exit`,"
        " which ends only the start-up file.",
        fix="To measure how long your start-up files take, run `time bash -lic exit` on the account. Load modules and"
        " conda only in the jobs and scripts that need them. If a start-up file ends the shell, remove the command"
        " that ends the shell. To start zsh only at a terminal, write `[[ -t 0 ]] && exec zsh`.",
        advice="Remove commands that are slow or end the shell from {place}.",
    ),
    "ENV-005": Rule(
        title="A program is not on PATH, or a different program comes first",
        severity="medium",
        reported_by=CHECKS,
        why="A script of hpc-onboard is not on PATH, or a different program, alias or function of the same name takes"
        " precedence. You may then run the wrong program. The audit also checks that the names `sbatch`, `srun`,"
        " `salloc`, `enroot`, `apptainer` and `singularity` start the site's programs directly. The rule reports an"
        " alias or a function with such a name, even if it only adds options. Scripts that you only submit with"
        " `sbatch` need not be on PATH, so the rule does not report them. This rule also reports the current folder"
        " on PATH (`.`, or an empty entry as in `PATH=:/usr/bin`), because anyone who can write to a folder can then"
        " choose the programs that you start in that folder. In addition, the rule reports a line such as"
        " `PATH=/usr/bin:/bin`, which removes the site's folders from PATH.",
        fix="Run `type -a PROGRAM` on the account to see which program comes first. If the folder of hpc-onboard's"
        " script is not on PATH, log in again. If the folder is still missing from PATH, your start-up file probably"
        " replaces PATH below the line that reads hpc-onboard's settings. Add the script's folder to PATH in the line"
        " that replaces PATH. If a different program takes precedence, remove that program, or move its folder to the"
        " end of PATH.",
        found_class="changed",
        advice="Remove {place}, or remove its folder from PATH. Alternatively, move its folder on PATH behind the"
        " folder of hpc-onboard's script.",
        cases={
            "not_on_path": "Log in again. If the script is still not on PATH, look in your start-up file for a line"
            " that replaces PATH after the line that reads hpc-onboard's settings. Add the script's folder in that"
            " line: export PATH={folder}:$PATH (in tcsh: set path = ({folder} $path)).",
            "path_replaced": "Keep the earlier value of PATH in {place} (write export PATH=FOLDER:$PATH), or move this"
            " line above the line that reads hpc-onboard's settings.",
            "name_taken": "Remove the alias or function from {place}, or rename it.",
            "current_folder": "Write only absolute paths into PATH in {place}: no dot, empty entry, or ~ in quotes.",
        },
    ),
    "ENV-006": Rule(
        title="The shell settings of hpc-onboard are missing",
        severity="medium",
        reported_by="the Ansible role `shell_environment`",
        why="hpc-onboard's settings file for shells (such as `~/.config/hpc.onboard/env.sh`) does not exist, or no"
        " start-up file reads it. The line that reads the settings file must be the first line of `~/.bashrc` (bash),"
        " `~/.zshenv` (zsh), `~/.config/fish/config.fish` (fish), `~/.tcshrc` or `~/.cshrc` (tcsh), or `~/.profile`"
        " (other shells). For bash, the line must also be in the file that bash reads at a login (`~/.bash_profile`,"
        " `~/.bash_login` or `~/.profile`), unless that login file reads `~/.bashrc`. Therefore, the rule also"
        " reports a new `~/.bash_profile` that does not read your `~/.bashrc`. Without hpc-onboard's settings, caches"
        " are in the home directory, and your scripts are not on PATH.",
        fix="Run `hpc-onboard onboard ACCOUNT --tags shell_environment`, which writes hpc-onboard's settings file, and"
        " adds the line that reads the settings file to your shell's start-up file.",
    ),
    "ENV-007": Rule(
        title="A variable of hpc-onboard is missing or different in a shell",
        severity="medium",
        reported_by=CHECKS,
        why="A variable that hpc-onboard sets is missing in one of your shells, or has a different value. A line in a"
        " start-up file, often copied from a tutorial, sets or unsets the variable after the file has read"
        " hpc-onboard's settings, or the file exits before it reads these settings. As a result, a cache may be in"
        " the home directory again. The audit checks a login shell, an interactive shell, a command over ssh and a"
        " batch job. ENV-006 reports that the line that reads these settings is missing. ENV-009 reports"
        " other variables and tools' settings files that override hpc-onboard's settings.",
        fix="Remove the line that the finding names, or run `hpc-onboard fix ACCOUNT`, which removes the line if"
        " nothing else depends on it. If you want to keep the line's value, declare the value in the accounts file"
        " instead. If the line points to a folder with files, the finding also names this folder. Move the files that"
        " you need from this folder. After you have removed the line, no program uses the folder, and later audits do"
        " not report it.",
        found_class="changed",
        advice="Remove the line at {place}, or declare its value in the accounts file.",
        cases={
            UNPLACED: "None of your start-up files sets {place}. Find out what sets the variable, for example a"
            " module, then remove this setting."
        },
    ),
    "ENV-008": Rule(
        title="Every user can change the files that you create",
        severity="medium",
        reported_by=CHECKS,
        why="The umask of one of your shells lets every user of the cluster write to the files and folders that you"
        " create. Other users can therefore change or delete your data. The rule does not report a umask that lets only"
        " your group write, such as 002.",
        fix="In your start-up file, remove the line that sets the umask, or change the line to `umask 022`. To hide"
        " your new files from users outside of your group, use `umask 027` instead.",
        advice="Remove the umask command from {place}, or change it to umask 022.",
    ),
    "ENV-009": Rule(
        title="A setting conflicts with a setting of hpc-onboard",
        severity="low",
        reported_by=CHECKS,
        why="You or the site set a variable (such as `HF_HOME`, `TRANSFORMERS_CACHE` or `XDG_CACHE_HOME`), but a"
        " different variable that hpc-onboard sets takes precedence. Programs then do not find earlier downloads. The"
        " rule also reports a setting whose folder differs from hpc-onboard's folder, does not exist, or is in the"
        " home directory although the site wants caches in a different place. The audit looks for such settings in"
        " start-up files, settings files of tools (`enroot.config`, `environ.d`, `environment.d`, `pip.conf`,"
        " `.condarc`, `.npmrc`), files that a variable names (`PIP_CONFIG_FILE`, `CONDARC`), job scripts, and project"
        " settings (`.env`, `uv.toml`, `.vscode`, `~/.edf`). The rule also reports a variable such as `CARGO_HOME` or"
        " `NETRC` whose path does not exist and cannot be created, and a `TMPDIR` that does not exist, because"
        " programs do not create this folder. In addition, the rule reports a systemd service, a Jupyter kernel or a"
        " script in `~/bin` whose program does not exist.",
        fix="Remove the line that conflicts with a setting of hpc-onboard. If you want to keep your own folder,"
        " declare the folder in the accounts file instead (`tool_caches: {paths: {huggingface: /data/ada/hf}}`), then"
        " run `hpc-onboard onboard ACCOUNT`. To find folders that you can declare, run `hpc-onboard adopt ACCOUNT`."
        " If a path no longer exists, correct the path or remove the line that sets it.",
        advice="Remove or correct the setting in {place}, or declare its folder in the accounts file (tool_caches:"
        " {{paths: {{TOOL: FOLDER}}}}).",
    ),
    "ENV-010": Rule(
        title="A start-up file or a job script has carriage returns or a byte-order mark",
        severity="medium",
        reported_by=CHECKS,
        why="Windows editors end each line with a carriage return and a line feed. On the cluster, a shell reads the"
        " carriage return as part of the last word, so variables do not have the values that the file shows. Slurm"
        " refuses a job script with carriage returns or a byte-order mark. A shell reads a byte-order mark at the"
        " beginning of a start-up file as part of the first word. The rule also reports a script in `~/bin` or"
        " `~/.local/bin` whose first line ends with a carriage return, because the system cannot start such a script.",
        fix="To remove the carriage returns and the byte-order mark from a file, run `sed -i 's/\\r$//;"
        " 1s/^\\xef\\xbb\\xbf//' FILE` on the account.",
        advice="Remove carriage returns and byte-order marks from {place}: sed -i 's/\\r$//; 1s/^\\xef\\xbb\\xbf//'"
        " FILE",
    ),
    "ENV-011": Rule(
        title="A start-up file changes how every command runs",
        severity="low",
        reported_by=CHECKS,
        why="A start-up file changes the current folder, sets a limit with `ulimit` or `limit` (file size, memory,"
        " time, open files or processes), redirects all output of the shell, or sets a variable that changes the"
        " behaviour of many programs. Such variables are `CDPATH`, `GREP_OPTIONS`, `TAR_OPTIONS`, `POSIXLY_CORRECT`,"
        " `IFS`, `GLOBIGNORE`, `SHELLOPTS`, `BASHOPTS`, `TMOUT`, `LD_PRELOAD`, `LD_AUDIT`, `PYTHONHOME`,"
        " `PYTHONOPTIMIZE`, `PERL5OPT`, `RUBYOPT`, `GIT_DIR`, `GIT_WORK_TREE`, `PIP_TARGET`, `PIP_PREFIX`, `PIP_USER`,"
        " `CUDA_VISIBLE_DEVICES`, `HIP_VISIBLE_DEVICES` and `ROCR_VISIBLE_DEVICES`. The rule also reports a `HOME` that"
        " is not your home directory, a `PYTHONPATH`, `LD_LIBRARY_PATH` or `PERL5LIB` that contains the current folder,"
        " a `MODULEPATH` without the site's folders, and a `TMPDIR` in the home directory. As a result, commands over"
        " ssh, `scp` with a relative path, and jobs behave differently, without any warning.",
        fix="Remove the line that the finding names from the start-up file, or run the line only in interactive"
        " shells, for example with `[[ $- == *i* ]] && cd /data/ada`.",
        advice="Remove the line at {place}, or run this line only in interactive shells.",
    ),
}
