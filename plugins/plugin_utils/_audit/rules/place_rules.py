# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules about links and folders."""

from __future__ import annotations

from .rule import CHECKS, Rule

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
}
