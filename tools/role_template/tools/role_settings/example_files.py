"""The settings of the role example_files.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

from tools.role_pages import Role, Setting, like, state

ROLES = [
    Role(
        "example_files",
        "Keep example_files",
        "say what in a few words",
        ["What an account gets, in one sentence. What is not touched, in another."],
        [
            Setting("entries", [], "The files.", items=[like("example_file", "path"), like("example_file", "content")]),
            state("Whether the files exist. C(absent) removes them."),
        ],
    ),
]
