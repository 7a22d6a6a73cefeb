# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of folders and links. The classes' docstrings are the modules' documentation (tools/module_pages.py).

KIND is the resource type, TITLE the name of a resource, and OPTIONS the spec of its options. check() is called for each
resource before its options are sent to an account. self.options: these options, with defaults for missing ones. The
first argument of check_path() and similar functions is the name of the option in the error message.
"""

from .._core.values import STATE, Options, check_path


class DirectoryOptions(Options):
    """Keep a folder of your account.

    Creates a folder in the home, or in a storage area of the site, and every missing folder between it and O(root).

    An existing folder is not changed. With O(state=absent) it is removed only if it is empty.

    Options:
        path: The path of the folder. It may begin with C(~) or with a variable of the site such as C($SCRATCH).
        root: The folder that must exist already. Not needed in the home, where every missing folder is created.
            Elsewhere it defaults to the folder above O(path).
        mode: The mode of a newly created folder.

    Example: Create my own folder in the project's area
        path: /work1/deep_lgt/simone
        root: /work1/deep_lgt
    """

    KIND = "directory"
    TITLE = "folder %(path)s"
    OPTIONS = {
        "path": {"type": "path", "required": True},
        "root": {"type": "path"},
        "mode": {"type": "str", "default": "0700", "choices": ["0700", "0750", "0755", "0770", "2770"]},
        "state": STATE,
    }

    def check(self) -> None:
        """Raise AccountError for an invalid path."""
        check_path("path", self.options["path"])
        if self.options.get("root"):
            check_path("root", self.options["root"])


class StorageLinkOptions(Options):
    """Keep a link from the home to a storage area.

    If a link that hpc-onboard created points elsewhere, the task corrects the link. The task fails, and changes
    nothing, if another file or folder is at the path of the link, or if the target is missing.

    Options:
        path: The path of the link.
        target: The folder that the link points to.

    Example: Link the project's area into the home
        path: ~/work
        target: /work1/deep_lgt/simone
    """

    KIND = "storage_link"
    TITLE = "link %(path)s"
    OPTIONS = {
        "path": {"type": "path", "required": True},
        "target": {"type": "path", "required": True},
        "state": STATE,
    }

    def check(self) -> None:
        """Raise AccountError for an invalid path or target."""
        check_path("path", self.options["path"])
        check_path("target", self.options["target"])
