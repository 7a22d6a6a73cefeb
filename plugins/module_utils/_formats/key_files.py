# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names of files that may contain keys. Paths are relative to the home directory."""

import re
from typing import List, Tuple

ENROOTS = (".config/enroot/.credentials", "enroot/.credentials", ".enroot/.credentials")
"""Paths that enroot may read, by default or by a site's setting."""

CREDENTIALS = ENROOTS + (
    ".apptainer/docker-config.json",
    ".apptainer/remote.yaml",
    ".singularity/docker-config.json",
    ".singularity/remote.yaml",
    ".docker/config.json",
    ".config/containers/auth.json",
    ".netrc",
    ".ngc/config",
    ".cache/huggingface/token",
    ".cache/huggingface/stored_tokens",
    ".huggingface/token",
    ".git-credentials",
    ".config/git/credentials",
    ".config/hub",
    ".config/gh/hosts.yml",
    ".pypirc",
    ".kaggle/kaggle.json",
    ".config/kaggle/kaggle.json",
    ".rclone.conf",
    ".dockercfg",
    ".aws/credentials",
    ".config/rclone/rclone.conf",
    ".s3cfg",
    ".boto",
    ".config/gcloud/application_default_credentials.json",
    ".npmrc",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".config/glab-cli/config.yml",
    ".databrickscfg",
    ".vault-token",
    ".kube/config",
    ".pgpass",
    ".msmtprc",
    ".mlflow/credentials",
    ".my.cnf",
    ".jupyter/jupyter_server_config.py",
    ".jupyter/jupyter_server_config.json",
    ".jupyter/jupyter_notebook_config.py",
    ".jupyter/jupyter_notebook_config.json",
    ".codex/auth.json",
    ".claude/.credentials.json",
    ".replicate/auth",
    ".smbcredentials",
    *(".vnc/passwd", ".config/tigervnc/passwd", ".cdsapirc", ".ecmwfapirc", ".irods/.irodsA", ".globus/userkey.pem"),
    *(".cargo/credentials", ".config/pypoetry/auth.toml", ".composer/auth.json", ".config/composer/auth.json"),
    *(".terraform.d/credentials.tfrc.json", ".config/openstack/clouds.yaml", ".oci/config", ".mc/config.json"),
    *(".azure/msal_token_cache.json", ".azure/accessTokens.json", ".config/doctl/config.yaml", ".passwd-s3fs"),
    *(".modal.toml", ".comet.config", "clearml.conf", ".lightning/credentials.json", ".gemini/oauth_creds.json"),
    *(".config/github-copilot/hosts.json", ".config/github-copilot/apps.json", ".local/share/opencode/auth.json"),
    *(".config/sops/age/keys.txt", ".config/age/keys.txt", ".authinfo", ".fetchmailrc", ".mbsyncrc"),
    *(".config/msmtp/config", ".config/gcloud/credentials.db", ".config/gcloud/access_tokens.db"),
)
"""Files in which programs keep keys."""

START_UPS = (
    ".profile",
    ".bash_profile",
    ".bash_login",
    ".bashrc",
    ".bash_logout",
    ".bash_aliases",
    ".zshenv",
    ".zprofile",
    ".zshrc",
    ".zlogin",
    ".cshrc",
    ".tcshrc",
    ".login",
    ".kshrc",
    ".mkshrc",
    *(".zlogout", ".logout", ".bash_completion", ".config/zsh/.zshrc", ".config/zsh/.zprofile"),
    *(".config/zsh/.zlogin", ".config/bash/bashrc"),
    ".config/fish/config.fish",
    ".pam_environment",
    ".ssh/environment",
)
"""Files that shells and logins read when they start."""

START_UP_FOLDERS = (
    *((".config/fish/conf.d", ".fish"), (".config/environment.d", ".conf")),
    *((".bashrc.d", ""), (".bash.d", ""), (".zshrc.d", ""), (".zsh.d", ""), (".profile.d", ".sh")),
)
"""Folders whose files shells and logins read as well, and the suffix of these files."""

HISTORIES = (
    ".bash_history",
    ".zsh_history",
    ".histfile",
    ".history",
    ".sh_history",
    ".ksh_history",
    ".local/share/fish/fish_history",
    *(".zhistory", ".tcsh_history", ".local/share/zsh/history", ".local/share/zsh_history"),
    *(".local/state/zsh/history", ".local/state/bash/history", ".cache/zsh/history", ".cache/zsh_history"),
    *(".psql_history", ".mysql_history", ".Rhistory", ".julia/logs/repl_history.jl"),
    ".python_history",
    ".node_repl_history",
    ".sqlite_history",
    ".viminfo",
    ".lesshst",
)
"""Files in which shells and other programs record the user's input."""

_SCRIPT_SUFFIXES = (
    *(".sh", ".bash", ".zsh", ".csh", ".tcsh", ".ksh", ".fish", ".sbatch", ".slurm", ".sl", ".sb", ".batch", ".job"),
    *(".pbs", ".lsf", ".sge", ".qsub", ".sub", ".submit", ".run", ".cmd"),
)
_TEXT_SUFFIXES = (
    ".py",
    ".ipynb",
    ".yml",
    ".yaml",
    ".json",
    ".jsonc",
    ".toml",
    ".ini",
    ".cfg",
    ".conf",
    ".config",
    ".txt",
    ".md",
)
_CODE_SUFFIXES: Tuple[str, ...] = (
    ".rst",
    ".rmd",
    ".qmd",
    ".def",
    ".r",
    ".jl",
    ".lua",
    ".js",
    ".ts",
    ".pl",
    ".rb",
    ".go",
    ".rs",
    ".java",
    ".tcl",
)
_CODE_SUFFIXES += (
    *(
        ".c",
        ".h",
        ".cc",
        ".cpp",
        ".hpp",
        ".cu",
        ".f90",
        ".php",
        ".kt",
        ".scala",
        ".swift",
        ".ps1",
        ".bat",
        ".vim",
        ".el",
    ),
    *(".mjs", ".cjs", ".jsx", ".tsx", ".vue", ".pyx", ".hcl", ".tfvars", ".tfstate", ".nix", ".j2", ".tmpl", ".tpl"),
    *(".template", ".tex", ".org", ".timer", ".desktop", ".http", ".rest"),
)
_CODE_SUFFIXES += (".m", ".mk", ".nf", ".smk", ".tf", ".sql", ".xml", ".html", ".properties", ".service")
_OTHER_SUFFIXES: Tuple[str, ...] = (  # of outputs, copies and keys
    *(".code-workspace", ".out", ".err", ".log", ".patch", ".diff", ".bak", ".orig", ".save", ".old"),
    *(".backup", ".bkp", ".copy", ".dist", ".swp", ".swo", ".history", ".hist", ".netrc", ".rc"),
    ".pem",
    ".key",
    ".ppk",
    ".ovpn",
)
_KEY_WORD = re.compile(r"(?:^|[._-])(?:(?:api)?keys?|tokens?|secrets?|passw\w*|credentials?|auth|login)(?:[._-]|\Z)")
_SSH_KEY = re.compile(r"(?:^|[._-])(?:id_(?:rsa|dsa|ecdsa|ed25519)|netrc|kubeconfig)(?:[._-]|\Z)")
_PLAIN_NAME = re.compile(  # of a script, a list of variables or notes, without a suffix
    r"(?:[^.]*[_-])?(?:(?:docker|make|snake|container|jenkins|vagrant|just|proc)file|singularity|readme|notes?|todo"
    r"|run|start|submit|launch|train|job|jobs|setup|install|env|environment|config|settings|history|script)"
    r"(?:[_-][^.]*)?\Z"
)
_JOB_OUTPUT = re.compile(r"[.-][oe]\d+\Z")  # such as name.o4711 and name-e4711
_EXAMPLES = frozenset(
    (
        "test",
        "tests",
        "testing",
        "testdata",
        "test_data",
        "fixture",
        "fixtures",
        "example",
        "examples",
        "sample",
        "samples",
    )
    + ("doc", "docs", "documentation", "mock", "mocks", "spec", "tutorial", "tutorials", "demo", "demos")
    + ("__tests__", "__mocks__", "unit_tests", "unittests", "integration_tests", "test-data", "sample_data")
)  # names of folders for code that is not in use
_COPY_SUFFIX = re.compile(  # after a name: words of editors and package managers, dates and numbers
    r"(?i)(?:(?:[ ._(+:-]|t(?=\d))*(?:~|(?<=.)\d{1,14}(?!\d)z?|bak|back-?up|bkp|old|orig(?:inal)?|saved?|copy"
    r"|prev(?:ious)?|rej|sw[a-p]|(?:dpkg|ucf|rpm)-?(?:old|dist|new|save|orig|bak|tmp)|pre-oh-my-zsh)\)?)+\Z"
)
_BEFORE_COPY = re.compile(r"(?i)\.?(?:copy[ _-]of|old|bak|back-?up|saved?|orig)[ ._-]+\Z")
_SOURCE_COMMAND = re.compile(
    r"(?:^|[;&|{)]|\b(?:then|do|else|and|or|builtin|command)\b)[ \t]*(?:source|\\?\.)[ \t]+[\"']?([^ \t\r\n\"';&|)]+)",
    re.MULTILINE,
)
_LOOP = re.compile(  # a loop that sources files, within a few lines
    r"^[^#\n]*?\bfor(?:each)?[ \t]+\w*([^;\n]*)(?:[^\n]*\n){0,4}?[^#\n]*(?:\bsource|[ \t;&]\.)[ \t]+[\"']?\$",
    re.MULTILINE,
)
_WITH_WILDCARD = re.compile(r"((?:~|\$HOME|\$\{HOME\}|)/[^\s;()\"'*]*\*[^\s;()\"']*)")
_HOME = re.compile(r"^(?:~|\$HOME|\$\{HOME\})/")


def is_history(shown: str) -> bool:
    """Return True if a path is a history file. shown: the path, which begins with ~/."""
    return shown[2:] in HISTORIES


def is_script(name: str) -> bool:
    """Return True if a file with this name is a script, such as a job script, or a list of variables (.env)."""
    lower = name.lower()
    return lower.endswith(_SCRIPT_SUFFIXES + (".env",)) or lower == ".envrc" or lower.startswith(".env.")


def is_application_file(name: str) -> bool:
    """Return True if applications rather than shells read a file with this name: .env, or a compose file."""
    lower = name.lower()
    if "compose" in lower and lower.endswith((".yml", ".yaml")):
        return True
    return lower.startswith(".env") or lower.endswith(".env")


def is_text(name: str) -> bool:
    """Return True if a file with this name may be a text of the user, output of a job, a key file, or a hidden file."""
    lower = name.lower()
    has_suffix = lower.endswith(_TEXT_SUFFIXES + _CODE_SUFFIXES + _OTHER_SUFFIXES)
    patterns = (_PLAIN_NAME.match, _JOB_OUTPUT.search, _KEY_WORD.search, _SSH_KEY.search)
    return has_suffix or lower.startswith(".") or any(search(lower) for search in patterns)


def is_example(path: str) -> bool:
    """Return True if a path, relative to the home directory, is in a folder for tests, examples or documentation."""
    return not _EXAMPLES.isdisjoint(path.lower().split("/")[:-1])


def is_copy(name: str, original: str) -> bool:
    """Return True if users, editors or other programs would give this name to a copy of the file named original.

    Any other ending, such as that of .bashrc-hpc, is the user's choice: the file may be in use. See is_variant().
    """
    if name == original:
        return False
    if name == "#%s#" % original:  # emacs
        return True
    if name.startswith(original) and _COPY_SUFFIX.match(name[len(original) :]):
        return True
    stems = ("." + original.lstrip("."), "." + original)
    # vim: .netrc.swp, .netrc.swo; the name may begin with a further dot
    if any(name.startswith(stem + ".sw") and len(name) == len(stem) + 4 for stem in stems):
        return True
    before, found, after = name.partition(original.lstrip("."))  # netrc.bak, old-netrc, "Copy of .netrc"
    copy_word = _COPY_SUFFIX.match(after) if before in ("", ".") else _BEFORE_COPY.match(before)
    return bool(found) and copy_word is not None


def is_variant(name: str, original: str) -> bool:
    """Return True if a name is that of the file named original with another ending, such as .netrc-jobs."""
    ending = name[len(original) :] if name.startswith(original) else ""
    return bool(ending) and not ending[0].isalpha() and ending != ".d"  # .bashrc.d is a folder with more settings


def find_sourced_files(text: str, home: str, with_patterns: bool = False) -> List[str]:
    """Return the absolute paths of the files that a shell script sources. text: of the script. home: an absolute path.

    A path with a variable other than HOME or a command is skipped. with_patterns: do not skip paths with wildcards.
    """
    written_paths = _SOURCE_COMMAND.findall(text)
    if with_patterns:
        loops = [loop.replace('"', "") for loop in _LOOP.findall(text)]
        written_paths += [path for loop in loops for path in _WITH_WILDCARD.findall(loop)]
    paths = [_HOME.sub(lambda _match: home + "/", path) for path in written_paths]
    skipped = r"[$`]" if with_patterns else r"[$*?`\[]"  # characters of variables, commands and wildcards
    return [path for path in paths if path.startswith("/") and not re.search(skipped, path)]
