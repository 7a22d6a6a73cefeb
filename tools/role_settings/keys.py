"""The settings of the roles that keep keys.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

from tools.role_pages import FROM_PROFILE, Role, Setting, item, like, state

RUNTIMES = ("apptainer", "enroot", "none")
SECRET = Setting(
    "secret",
    "ngc",
    "The name of the key in the keyring, for registries that name none. Store it with C(keyring set hpc.onboard ngc).",
)
LOGIN = item("login", "The user at the registry. Defaults to $oauthtoken.")
OWN_SECRET = item("secret", "The name of this registry's key in the keyring.")

ROLES = [
    Role(
        "enroot_credentials",
        "Keep the registry keys that enroot reads",
        "the keys of registries, in the file that enroot reads at this site",
        [
            "Keeps one line per registry in enroot's credentials file, in enroot's format, readable only by its owner.",
            "The key comes from the keyring by name. Other lines stay as they are.",
        ],
        [
            like(
                "enroot_credential",
                "path",
                sentence="The file that enroot reads at this site. If empty, nothing is kept.",
                set_by=FROM_PROFILE,
            ),
            Setting(
                "runtime",
                "enroot",
                "The container tool of the site. It explains why nothing is kept if the path is empty.",
                choices=RUNTIMES,
                set_by=FROM_PROFILE,
            ),
            Setting(
                "registries",
                [{"machine": "nvcr.io"}, {"machine": "authn.nvidia.com"}],
                "The registries. NGC needs both defaults.",
                items=[item("machine", "The registry's host name.", required=True), LOGIN, OWN_SECRET],
            ),
            SECRET,
            state("Whether the lines exist. C(absent) removes those of hpc-onboard; all others stay."),
        ],
    ),
    Role(
        "registry_auth",
        "Keep the registry logins that Apptainer reads",
        "the registry logins, in the file that Apptainer reads",
        [
            "Keeps the login for each registry in the JSON file that Apptainer or Docker reads, private to you.",
            "The key comes from the keyring by name. Other entries stay as they are.",
        ],
        [
            like("registry_auth", "path"),
            Setting(
                "runtime",
                "apptainer",
                "The container tool of the site. Only Apptainer needs such a file.",
                choices=RUNTIMES,
                set_by=FROM_PROFILE,
            ),
            Setting(
                "registries",
                [{"registry": "nvcr.io"}],
                "The registries.",
                items=[
                    item("registry", "The registry as its readers look it up.", required=True),
                    LOGIN,
                    OWN_SECRET,
                ],
            ),
            SECRET,
            state("Whether the logins exist. C(absent) removes those of hpc-onboard; all others stay."),
        ],
    ),
    Role(
        "tokens",
        "Keep the tokens of programs",
        "the tokens of wandb, Hugging Face and the `ngc` program",
        [
            "Keeps the token of each program where the program looks for it, readable only by its owner.",
            "The token comes from the keyring by name. Everything else in such a file stays as it is.",
        ],
        [
            Setting(
                "programs",
                [],
                "The programs: wandb (~/.netrc), huggingface (~/.cache/huggingface/token), ngc (~/.ngc/config).",
                items=[
                    item("program", "The program.", required=True, choices=("wandb", "huggingface", "ngc")),
                    item("secret", "The name of its token in the keyring. Defaults to one for the program."),
                    item("path", "The file. Defaults to the program's own choice."),
                ],
            ),
            state("Whether the tokens exist. C(absent) removes those of hpc-onboard; all else stays."),
        ],
    ),
]
