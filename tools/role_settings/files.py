"""The settings of the roles that keep files, links and shell settings.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

from tools.role_pages import FROM_ACCOUNTS, Role, Setting, item, like, state

FILES_FROM = Setting(
    "files_from",
    "",
    "The folder that relative file names start from. If empty, the folder of the run.",
    set_by=FROM_ACCOUNTS,
)
AREA = [
    item("name", "The name of the area.", required=True),
    item("path", "The account's own folder. It may begin with ~ or a variable of the site."),
    item("root", "The folder that the site created and that must exist."),
    Setting("create", False, "Whether the folder may be created below root."),
    item("mode", "The mode of the folder when it is created, such as 0700."),
    item("link", "The name of its link in the home. Without it there is no link."),
    item("ask", "How to find out the path, if it is unknown."),
    item("variable", "The site's variable for the path."),
    item("bytes", "The limit in bytes.", "int"),
    item("files", "The limit in files.", "int"),
    item("backup", "Whether the site backs it up.", "bool"),
    item("purge", "After how many days which files are purged.", "dict"),
    item("on_compute", "The access that jobs have."),
    item("note", "Anything else you should know."),
    item("source", "The source of these facts."),
]

ROLES = [
    Role(
        "storage_links",
        "Link the site's storage areas into the home",
        "links from the home directory to storage areas, and your folders in these areas",
        [
            "Creates the account's own folder in each storage area if the site allows it, and links it into the home.",
            "An existing file or folder in the place of a link is never touched; it is reported.",
        ],
        [
            Setting("areas", [], "The storage areas. If empty, none is linked.", items=AREA, set_by=FROM_ACCOUNTS),
            Setting(
                "own",
                {},
                "Links of your own, each by its place in the home, such as C(~/data), with the folder that it points"
                " to. They exist on every cluster, and replace an area's link of the same name.",
                set_by=FROM_ACCOUNTS,
            ),
            Setting(
                "by",
                "us",
                "Whether hpc-onboard (C(us)) or the site creates the links.",
                choices=("us", "site"),
            ),
            Setting("why", "", "Why the site creates the links, in a few words."),
            state("Whether the links exist. C(absent) removes them; folders stay."),
        ],
    ),
    Role(
        "path_scripts",
        "Keep scripts on PATH",
        "your own scripts on PATH",
        [
            "Keeps scripts in a folder of the home and puts that folder on PATH in every shell of the account.",
            "A file of the same name that hpc-onboard did not write, or that was edited, stays and is reported.",
        ],
        [
            Setting(
                "scripts",
                [],
                "Scripts of your own.",
                items=[
                    item("name", "The name of the script.", required=True),
                    item("file", "A file on this machine that holds it, relative to the accounts file."),
                    item("content", "Or the whole text, beginning with #!."),
                ],
            ),
            FILES_FROM,
            Setting("folder", "~/bin", "The folder for the scripts. It comes first on PATH."),
            state("Whether the scripts exist. C(absent) removes them."),
        ],
    ),
    Role(
        "own_files",
        "Keep text files of your own on the account",
        "copies of your own text files, from a folder on your machine",
        [
            "Keeps text files from a folder of this machine on the account, each at its path and with its mode.",
            "A file that existed before, or that was edited on the account, stays and is reported.",
            "A file that contains a key, is not text, or is larger than 64 KiB is refused before anything is touched.",
        ],
        [
            Setting(
                "files",
                [],
                "The files. If empty, none is kept.",
                items=[
                    item("file", "Its name in the folder, such as condarc.", required=True),
                    item("path", "Its place on the account, such as ~/.condarc.", required=True),
                    like(
                        "own_file",
                        "mode",
                        sentence="Its mode, in quotes, since YAML reads a bare 0644 as another number.",
                    ),
                ],
            ),
            Setting("folder", "files", "The folder on this machine with the files, relative to the accounts file."),
            FILES_FROM,
            state("Whether the files exist. C(absent) removes them."),
        ],
    ),
    Role(
        "shell_environment",
        "Keep environment variables for every shell",
        "environment variables and PATH in bash, zsh, tcsh, fish and sh",
        [
            "Keeps variables and PATH folders in one generated file per shell dialect. One line in the start-up file"
            " that the login shell really reads loads it.",
        ],
        [
            like("shell_environment", "variables"),
            like("shell_environment", "path"),
            state("Whether they are set. C(absent) removes them."),
        ],
    ),
]
