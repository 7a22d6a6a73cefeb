# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings that make a program connect to a server without checking the server's certificate or key.

The names are from the documentation of the tools. The patterns match lines of settings files and start-up files.
"""

import re
from typing import Tuple

from .._formats.condarc import SETTINGS
from .._formats.lines import split_lines
from .audit_check import AuditCheck
from .trusted_places import OPEN_SERVER, WITHOUT_TOKEN

_HTTP = r"http://(?!localhost|127\.|\[::1)"  # a connection to another machine without encryption
OFF = r"[\"']?(?:false|no|off|0)\b"
_OF_SSH = r".*(?:StrictHostKeyChecking[\s=](?:no|off)\b|UserKnownHostsFile[\s=]/dev/null\b)"  # as an option of ssh
_GIT = r"(?i)\s*(?:sslVerify\s*=\s*%s|sshCommand\s*=%s|\[url\s+[\"']%s)" % (OFF, _OF_SSH, _HTTP)
_CONDA = r"(?i)ssl_verify\s*:\s*[<]?%s|(?:channel_alias\s*:|\s*-)\s*[\"']?%s" % (OFF, _HTTP)
_PIP = r"(?i)\s*(?:trusted[-_]host\s*[=:]|(?:extra[-_])?index[-_]url\s*[=:]\s*%s)" % _HTTP
_SSH = r"(?i)\s*(?:StrictHostKeyChecking[\s=]+(?:no|off)\b|UserKnownHostsFile[\s=]+/dev/null\b)"
_HOST = re.compile(r"\s*(?:Host|Match)\s+(.*)", re.I)
_CURL = r"\s*(?:-k|(?:--)?insecure)(?:\s*[=: ]\s*[\"']?(?:true|1|yes|on)[\"']?)?\s*$"
_CONTAINERS = r"\s*insecure\s*=\s*true\b"
_UV = r"\s*allow-insecure-host\s*=\s*\[?\s*[\"']"
_NPM = r"\s*(?:strict-ssl\s*=\s*%s|(?:\S*:)?registry\s*=\s*%s)" % (OFF, _HTTP)
_WGET = r"\s*check[-_]certificate\s*=\s*" + OFF
_LFTP = r"\s*set\s+ssl:verify-certificate(?:/\S+)?\s+" + OFF
_R = (
    r"[^#]*(?:\brepos\b.*[\"']%s"
    r"|download\.file\.extra\s*=\s*[\"'].*(?:-k\b|--insecure|--no-check-certificate))" % _HTTP
)
_ENROOT = r"\s*ENROOT_ALLOW_HTTP\s+(?:y|yes|true|1)\b"
BY_FILE: Tuple[Tuple[str, str], ...] = (  # file, and its lines that turn a check off
    (".gitconfig", _GIT),
    (".config/git/config", _GIT),
    *((name, _CONDA) for name in SETTINGS),
    (".pip/pip.conf", _PIP),
    (".config/pip/pip.conf", _PIP),
    (".config/uv/uv.toml", _UV),
    (".npmrc", _NPM),
    (".curlrc", _CURL),
    (".config/curlrc", _CURL),
    (".config/.curlrc", _CURL),
    (".yarnrc.yml", r"\s*enableStrictSsl\s*:\s*" + OFF),
    (".yarnrc", r"\s*\"?strict-ssl\"?\s+" + OFF),
    (".wgetrc", _WGET),
    (".config/containers/registries.conf", _CONTAINERS),
    (".config/enroot/enroot.config", _ENROOT),
    ("enroot/enroot.config", _ENROOT),
    (".ssh/config", _SSH),
    (".aria2/aria2.conf", r"\s*check-certificate\s*=\s*" + OFF),
    (".boto", r"(?i)\s*https_validate_certificates\s*=\s*" + OFF),
    (".config/docker/daemon.json", r".*\"insecure-registries\"\s*:\s*\[\s*\""),
    (".config/rclone/rclone.conf", r"\s*no_check_certificate\s*=\s*true\b"),
    (".gemrc", r"\s*:?ssl_verify_mode\s*:\s*0\b"),
    (".julia/config/startup.jl", r"\s*ENV\[\"JULIA_SSL_NO_VERIFY_HOSTS\"\]\s*=\s*\"[^\"]"),
    (".lftprc", _LFTP),
    (".lftp/rc", _LFTP),
    (".config/lftp/rc", _LFTP),
    (".Rprofile", _R),
    (".config/wandb/settings", r"\s*(?:base_url\s*=\s*%s|insecure_disable_ssl\s*=\s*true\b)" % _HTTP),
    (".s3cfg", r"(?i)\s*(?:check_ssl_certificate|use_https)\s*=\s*" + OFF),
)
BY_FOLDER = (  # folder, ending of its files, and lines of these files
    (".config/containers/registries.conf.d", ".conf", _CONTAINERS),
)
BY_POINTER = {  # variable that contains the path of a settings file -> lines of that file
    "PIP_CONFIG_FILE": _PIP,
    "UV_CONFIG_FILE": _UV,
    "CONDARC": _CONDA,
    "NPM_CONFIG_USERCONFIG": _NPM,
    "npm_config_userconfig": _NPM,
    "GIT_CONFIG_GLOBAL": _GIT,
    "WGETRC": _WGET,
    "CONTAINERS_REGISTRIES_CONF": _CONTAINERS,
}
VARIABLES = (
    r"[^#]*\b(?:GIT_SSL_NO_VERIFY[= ]+[\"']?(?:1|true)|(?:NODE_TLS_REJECT_UNAUTHORIZED|PYTHONHTTPSVERIFY)[= ]+[\"']?0"
    r"|(?:(?:APPTAINER|SINGULARITY)_NOHTTPS|ENROOT_ALLOW_HTTP)[= ]+[\"']?(?:1|[ty])"
    r"|(?:PIP_TRUSTED_HOST|UV_INSECURE_HOST|JULIA_SSL_NO_VERIFY_HOSTS)[= ]+[\"']?[\w*]|GIT_SSH_COMMAND%s"
    r"|(?:RCLONE_NO_CHECK_CERTIFICATE|WANDB_INSECURE_DISABLE_SSL)[= ]+[\"']?(?:1|[ty])|WANDB_BASE_URL[= ]+[\"']?%s"
    r"|(?:CONDA_SSL_VERIFY|NPM_CONFIG_STRICT_SSL|npm_config_strict_ssl)[= ]+%s"
    r"|(?:PERL_LWP_SSL_VERIFY_HOSTNAME[= ]+[\"']?0|CURL_CA_BUNDLE(?:=| +)(?:\"\"|'')?\s*$)"
    r"|alias\s+\w+[= ].*(?:curl\s[^|;]*(?:-k\b|--insecure)|wget\s[^|;]*--no-check-certificate"
    r"|\b(?:ssh|scp|sftp|rsync)\b%s|git\s[^|;]*http\.sslVerify=false|pip3?\s[^|;]*--trusted-host))"
    % (_OF_SSH, _HTTP, OFF, _OF_SSH)
)
"""Lines of start-up files that turn a check off by a variable or an alias."""


def report_insecure(check: AuditCheck, shown: str, pattern: str, text: str) -> None:
    """Report the lines that turn off the verification of servers; in ssh's settings, only lines for every host.

    shown: the path of the file, for messages. pattern: a pattern of BY_FILE, BY_FOLDER or BY_POINTER, or VARIABLES.
    text: the content of the file.
    """
    lines = split_lines(blank_host_sections(text) if pattern is _SSH else text)
    # A pattern is compiled only if its file has lines, because most accounts have few of these files.
    for number, line in enumerate(lines, 1):
        if re.match(pattern, line):
            check.report("SEC-012", "%s:%d" % (shown, number), "this line turns off the verification of servers")


def report_open_servers(check: AuditCheck, shown: str, text: str) -> None:
    """Report the lines of a job script that start a server without a token or a password. For shown, see above."""
    for found in OPEN_SERVER.finditer(text):
        check.report("SEC-010", "%s:%d" % (shown, text.count("\n", 0, found.start()) + 1), WITHOUT_TOKEN)


def blank_host_sections(text: str) -> str:
    """Return ssh's settings with an empty line in place of each line that applies only to some hosts."""
    lines, is_for_all_hosts = [], True
    for line in split_lines(text):
        section = _HOST.match(line)
        if section:
            is_for_all_hosts = section.group(1).strip() in ("*", "all")
        lines.append(line if is_for_all_hosts else "\n")
    return "".join(lines)
