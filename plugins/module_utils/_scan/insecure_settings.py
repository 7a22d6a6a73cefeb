# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings that make a program connect to a server without checking the server's certificate or key.

The names are from the documentation of the tools. The patterns match lines of settings files and start-up files.
"""

import re
from typing import Iterator, Tuple

from .._formats.condarc import SETTINGS
from .._formats.lines import split_lines
from .tool_places import CONDARC_FOLDERS

_LOCAL = r"(?:localhost\b|127\.|\[::1|0\.0\.0\.0|\$\(hostname|`hostname|\$\{?HOST(?:NAME)?\b)"
_HTTP = r"http://(?!(?:[^/@\s\"']*@)?%s)" % _LOCAL  # a connection to another machine without encryption
OFF = r"[\"']?(?:(?:false|no|off|none)\b|0L?\b)"
_ON = r"[\"']?(?:true|yes|on|1)\b"
_IS = r"[\"']?\s*[=:]\s*"  # between a setting, perhaps in quotes, and its value
_SSH_OPTIONS = r"(?i:StrictHostKeyChecking[\s=]+[\"']?(?:no|off)\b|UserKnownHostsFile[\s=]+[\"']?(?:/dev/null|none)\b)"
_OF_SSH = r".*" + _SSH_OPTIONS  # as an option of ssh
_GIT = (
    r"(?i)\s*(?:(?:\[[^\]]*\]\s*)?sslVerify\s*=\s*(?:$|%s)|sshCommand\s*=%s|\[url\s+[\"']%s|.*\bhttp\.sslVerify=%s)"
    % (OFF, _OF_SSH, _HTTP, OFF)
)
# Names that begin with http or https in conda's settings are those of proxies.
_CONDA = r"(?i)\s*[\"']?ssl_verify%s[<]?%s|(?!\s*[\"']?https?\b|.*proxy).*%s" % (_IS, OFF, _HTTP)
_PIP = (
    r"(?i)\s*(?:trusted[-_]host\s*[=:](?!\s*%s)|(?:(?:extra[-_])?index[-_]url|find[-_]links)\s*[=:].*%s|(?<=\s)%s)"
    % (_LOCAL, _HTTP, _HTTP)
)
_SSH = r"\s*" + _SSH_OPTIONS
_HOST = re.compile(r"\s*(?:Host|Match)[\s=]+(.*)", re.I)
_COMMENT = re.compile(r"(?:^|(?<=\s))#.*")
_CURL = r"\s*(?:-[fgGiIjlLnNOqRsSv#]*k\w*|(?:--)?insecure)(?:\s*[=: ]\s*%s[\"']?)?\s*$" % _ON
_CONTAINERS = r"\s*insecure\s*=\s*true\b"
_DOCKER = r".*\"insecure-registries\"\s*:\s*\[\s*(?:\"|$)"
_UV = (
    r"\s*(?:allow-insecure-host\s*=\s*\[?\s*(?:[\"'](?!%s)|$)"
    r"|(?:(?:.*\W)?(?:[\w-]+-)?url|default-index|find-links)\s*=.*%s)" % (_LOCAL, _HTTP)
)
_NPM = r"\s*(?:strict-ssl\s*=\s*%s|(?:\S*:)?registry\s*=\s*[\"']?%s)" % (OFF, _HTTP)
_YARN = r"\s*[\"']?(?:enableStrictSsl%s%s|npmRegistryServer%s[\"']?%s|unsafeHttpWhitelist\s*:\s*(?:\[\s*[^\s\]]|$))" % (
    _IS,
    OFF,
    _IS,
    _HTTP,
)
_YARN_1 = r"\s*\"?(?:strict-ssl\"?\s+%s|registry\"?\s+\"?%s)" % (OFF, _HTTP)
_WGET = r"(?i)\s*check[-_]?certificate\s*=\s*(?:quiet\b|%s)" % OFF
_LFTP_SETTINGS = (
    r"\bset\s+(?:(?:(?:ssl:)?(?:verify-certificate|check-hostname)|ftp:ssl-allow)(?:/\S+)?\s+%s"
    r"|sftp:auto-confirm(?:/\S+)?\s+%s|sftp:connect-program%s)" % (OFF, _ON, _OF_SSH)
)
_LFTP = r"\s*" + _LFTP_SETTINGS
_R = (
    r".*(?:(?:\brepos|\bCRAN|\bBioC\w*)\b[^<=]*(?:=|<-).*[\"']%s"
    r"|download\.file\.extra\s*=\s*[\"'].*(?:-\w*k\b|--insecure|--no-check-certificate)"
    r"|ssl[._]?verify_?(?:peer|host)\s*=\s*(?:0L?\b|FALSE\b|F\b))" % _HTTP
)
_ENROOT = r"\s*ENROOT_ALLOW_HTTP\s+(?:y|yes|true|1)\b"
PYTHON = r".*\b_create_default_https_context\s*=\s*(?:ssl\.)?_create_unverified_context"
_ARIA2 = r"\s*check-certificate\s*=\s*" + OFF
_RCLONE = r"\s*(?:\w+\.)?(?:no_check_certificate\s*=\s*%s|(?:\w*url|endpoint)\s*=\s*%s)" % (_ON, _HTTP)
_S3CMD = r"(?i)\s*(?:check_ssl_(?:certificate|hostname)|use_https)\s*=\s*" + OFF
_WANDB = r"(?i)\s*(?:base_url\s*=\s*%s|insecure_disable_ssl\s*=\s*%s)" % (_HTTP, _ON)
_GEM = r"\s*(?::?ssl_verify_mode\s*:\s*(?:0\b|.*VERIFY_NONE)|-\s*[\"']?%s|:?sources\s*:.*%s)" % (_HTTP, _HTTP)
_BOTO = r"(?i)\s*(?:https_validate_certificates|is_secure)\s*=\s*" + OFF
BY_FILE: Tuple[Tuple[str, str], ...] = (  # file, and its lines that turn a check off
    (".gitconfig", _GIT),
    (".config/git/config", _GIT),
    *((name, _CONDA) for name in SETTINGS),
    *((name, _PIP) for name in (".pip/pip.conf", ".config/pip/pip.conf", ".pydistutils.cfg")),
    (".config/uv/uv.toml", _UV),
    (".pypirc", r"\s*repository\s*[=:]\s*" + _HTTP),
    *((name, _NPM) for name in (".npmrc", ".config/npm/npmrc", ".config/pnpm/rc")),
    *((name, _CURL) for name in (".curlrc", ".config/curlrc", ".config/.curlrc")),
    (".yarnrc.yml", _YARN),
    (".yarnrc", _YARN_1),
    *((name, _WGET) for name in (".wgetrc", ".wget2rc", ".config/wget/wget2rc")),
    (".config/containers/registries.conf", _CONTAINERS),
    (".config/nerdctl/nerdctl.toml", r"\s*insecure_registry\s*=\s*true\b"),
    (".apptainer/remote.yaml", r"(?i)\s*insecure\s*:\s*true\b"),
    (".singularity/remote.yaml", r"(?i)\s*insecure\s*:\s*true\b"),
    (".kube/config", r"\s*insecure-skip-tls-verify\s*:\s*" + _ON),
    (".config/enroot/enroot.config", _ENROOT),
    ("enroot/enroot.config", _ENROOT),
    (".ssh/config", _SSH),
    *((name, _ARIA2) for name in (".aria2/aria2.conf", ".config/aria2/aria2.conf")),
    (".boto", _BOTO),
    (".aws/config", r"\s*endpoint_url\s*=\s*" + _HTTP),
    *((name, _DOCKER) for name in (".docker/daemon.json", ".config/docker/daemon.json")),
    *((name, _RCLONE) for name in (".config/rclone/rclone.conf", ".rclone.conf")),
    *((name, _GEM) for name in (".gemrc", ".config/gem/gemrc")),
    (".bundle/config", r"\s*BUNDLE_(?:SSL_VERIFY_MODE\s*:\s*[\"']?0|MIRROR\S*\s*:\s*[\"']?%s)" % _HTTP),
    *((name, r".*\bVERIFY_PEER\s*=.*\bVERIFY_NONE\b") for name in (".irbrc", ".pryrc")),
    *((name, _LFTP) for name in (".lftprc", ".lftp/rc", ".config/lftp/rc")),
    (".Rprofile", _R),
    (".pythonrc", PYTHON),
    (".pythonrc.py", PYTHON),
    (".config/wandb/settings", _WANDB),
    (".s3cfg", _S3CMD),
    (".spack/config.yaml", r"\s*verify_ssl\s*:\s*" + OFF),
    *((name, r"\s*tls-no-verify\s*=\s*true\b") for name in (".pixi/config.toml", ".config/pixi/config.toml")),
    (".config/dvc/config", r"\s*ssl_verify\s*=\s*" + OFF),
    (".ansible.cfg", r"(?i)\s*host_key_checking\s*=\s*" + OFF),
)
BY_FOLDER = (  # folder, ending of its files, and lines of these files
    (".config/containers/registries.conf.d", ".conf", _CONTAINERS),
    (".ipython/profile_default/startup", ".py", PYTHON),
    *((folder, ending, _CONDA) for folder in CONDARC_FOLDERS for ending in (".yml", ".yaml")),
)
BY_POINTER = {  # variable that contains the path of a settings file, or of its folder -> (name in the folder, lines)
    "PIP_CONFIG_FILE": ("", _PIP),
    "UV_CONFIG_FILE": ("", _UV),
    "CONDARC": ("", _CONDA),
    "MAMBARC": ("", _CONDA),
    "NPM_CONFIG_USERCONFIG": ("", _NPM),
    "npm_config_userconfig": ("", _NPM),
    "GIT_CONFIG_GLOBAL": ("", _GIT),
    "WGETRC": ("", _WGET),
    "WGET2RC": ("", _WGET),
    "CONTAINERS_REGISTRIES_CONF": ("", _CONTAINERS),
    "RCLONE_CONFIG": ("", _RCLONE),
    "S3CMD_CONFIG": ("", _S3CMD),
    "GEMRC": ("", _GEM),
    "R_PROFILE_USER": ("", _R),
    "PYTHONSTARTUP": ("", PYTHON),
    "BOTO_CONFIG": ("", _BOTO),
    "CURL_HOME": ("/.curlrc", _CURL),
    "LFTP_HOME": ("/rc", _LFTP),
    "WANDB_CONFIG_DIR": ("/settings", _WANDB),
}
OF_PROJECTS = {"uv.toml": _UV, "pyproject.toml": _UV, "pip.conf": _PIP, ".npmrc": _NPM}  # file name -> lines
_SETS = r"[\"'\])}]*(?:\s*[=:]\s*|,\s*|\s+(?:DEFAULT=)?)[\"']?"  # between a variable and its value, in any language
_NAME = r"(?<![\w$])(?<!\$\{)"  # before the name of a variable whose value is not used
_SWITCHES = (  # parts of the pattern VARIABLES
    # variables that turn a check off if they are true
    _NAME + r"(?:GIT_SSL_NO_VERIFY|(?:APPTAINER|SINGULARITY)_NOHTTPS|ENROOT_ALLOW_HTTP|RCLONE_NO_CHECK_CERTIFICATE"
    r"|WANDB_INSECURE_DISABLE_SSL|PERL_HTTP_TINY_SSL_INSECURE_BY_DEFAULT|MLFLOW_TRACKING_INSECURE_TLS"
    r"|AZURE_CLI_DISABLE_CONNECTION_VERIFICATION)%s(?:1|[tyTY]|on\b)" % _SETS,
    # variables that turn a check off if they are false
    _NAME + r"(?:NODE_TLS_REJECT_UNAUTHORIZED|PYTHONHTTPSVERIFY|PERL_LWP_SSL_VERIFY_HOSTNAME|(?:CONDA|MAMBA)_SSL_VERIFY"
    r"|BUNDLE_SSL_VERIFY_MODE|ANSIBLE_HOST_KEY_CHECKING|(?i:NPM_CONFIG_STRICT_SSL|YARN_ENABLE_STRICT_SSL))%s"
    r"(?:0|[fF]|[nN]o?\b|off\b)" % _SETS,
    # hosts that are not checked
    _NAME
    + r"(?:PIP_TRUSTED_HOST|UV_INSECURE_HOST|JULIA_(?:SS[LH]_)?NO_VERIFY_HOSTS|GOINSECURE)%s(?!%s)[\w*]"
    % (_SETS, _LOCAL),
    # addresses of servers
    _NAME + r"(?:WANDB_BASE_URL|(?:PIP|UV)_(?:DEFAULT_|EXTRA_)?INDEX(?:_URL)?|(?:PIP|UV)_FIND_LINKS|CONDA_\w*CHANNEL\w*"
    r"|JULIA_PKG_SERVER|HF_ENDPOINT|AWS_ENDPOINT_URL\w*|RCLONE_CONFIG_\w+_(?:URL|ENDPOINT)"
    r"|(?i:NPM_CONFIG_REGISTRY|YARN_NPM_REGISTRY_SERVER))%s[^\s;]*%s" % (_SETS, _HTTP),
    # an empty list of certificate authorities
    _NAME + r"(?:CURL|REQUESTS)_CA_BUNDLE(?:=(?:\"\"|'')?|[\"'\])}]*(?:\s*=)?\s*(?:\"\"|''))"
    r"(?=[\s;,)]|$)",
    PYTHON[2:],
    # ssh for every host: in variables, aliases and functions
    r"\b(?:GIT_SSH_COMMAND|RSYNC_RSH|SVN_SSH|PDSH_SSH_ARGS\w*|ANSIBLE_SSH_(?:COMMON_|EXTRA_)?ARGS)" + _OF_SSH,
    r"\b(?:alias|abbr)\s.*\b(?:ssh|scp|sftp|rsync)\b" + _OF_SSH,
    r"\b(?:ssh|scp|sftp|rsync)\b%s.*(?:\$[@*]|\$argv)" % _OF_SSH,
    # commands that change settings files
    r"\b(?:http\.sslVerify|ssl_verify|strict-ssl|enableStrictSsl)[\s=]+" + OFF,
    r"\bGIT_CONFIG_KEY_\d+=[\"']?http\.sslVerify|\b(?:global|install)\.trusted-host\s(?!\s*%s)" % _LOCAL,
    r"\bconfig\s+set\s+\S*(?:registry|index-url|RegistryServer)[\s=]+[\"']?" + _HTTP,
    r"\bhttp\.proxyStrictSSL\"\s*:\s*false\b",  # of VS Code
    _LFTP_SETTINGS,
)
_OPTIONS = (  # parts of the pattern for options of commands
    r"\bcurl\b(?:(?!&&)[^|;])*(?:\s-[fgGiILnNOqRsSv#0-4]*k|--insecure\b)",
    r"--(?:no-check-(?:certificate|hostname)|no-verify-ssl|tls-no-verify|insecure-skip-tls-verify)\b",
    r"--check-certificate[= ](?:quiet\b|%s)" % OFF,
    r"--(?:trusted-host|allow-insecure-host)[\s=](?!\s*%s)|--no-strict-ssl\b|\bs3cmd\b[^|;]*--no-ssl\b" % _LOCAL,
    r"--(?:\w+-)?tls-verify[= ]%s|\b(?:apptainer|singularity)\b[^|;]*--(?:no-?https|insecure)\b" % OFF,
    r"\bpip3?\s[^|;]*\s-[if][\s=]*[\"']?" + _HTTP,
    r"(?:--(?:(?:extra-)?index-url|default-index|find-links|registry)[\s=]|\bwandb\s+login\b.*)[\"']?" + _HTTP,
)
VARIABLES = r"(?!\s*(?:echo|printf)\b)(?:.*?(?:%s)|(?!.*//%s).*?(?:%s))" % (
    "|".join(_SWITCHES),
    _LOCAL,
    "|".join(_OPTIONS),
)
"""Lines of start-up files, job scripts and lists of variables that turn a check off."""
_WORDS = (  # each line that VARIABLES matches contains one of these words, in any case
    *("ssl", "tls", "http", "curl", "certificate", "insecure", "verif", "unauthorized", "trusted", "ca_bundle"),
    *("keycheck", "key_check", "knownhosts", "hostname", "auto-confirm", "connect-program"),
)


def find_insecure(pattern: str, text: str) -> Iterator[int]:
    """Yield the number of each line that turns off the verification of servers. text: of the file.

    pattern: of such lines, a constant or a table's entry of this module. For ssh's settings, only lines for every host
    are yielded. Of a command that continues on the next lines, only the first such line is yielded.
    """
    lower = text.lower()
    if pattern is VARIABLES and not any(word in lower for word in _WORDS):
        return  # to compile this pattern takes longer than the rest of the check
    lines = split_lines(blank_host_sections(text) if pattern is _SSH else text)
    command = [""]  # item N: the text of the current command up to the end of its line N
    # A pattern is compiled only if its file has lines, because most accounts have few of these files.
    for number, line in enumerate(lines, 1):
        command.append(command[-1] + _COMMENT.sub("", line).rstrip())
        if command[-1].endswith("\\") and number < len(lines):
            command[-1] = command[-1][:-1] + " "
            continue
        if re.match(pattern, command[-1]):
            first_line = number - len(command) + 2
            # the line in which the command, read from its beginning, first matches
            yield first_line + next(index for index, part in enumerate(command[1:]) if re.match(pattern, part))
        command = [""]


def blank_host_sections(text: str) -> str:
    """Return ssh's settings with an empty line in place of each line that applies only to some hosts."""
    lines, is_for_all_hosts = [], True
    for line in split_lines(text):
        section = _HOST.match(line)
        if section:
            is_for_all_hosts = bool({"*", "all"} & set(section.group(1).lower().replace('"', "").split()))
        lines.append(line if is_for_all_hosts else "\n")
    return "".join(lines)
