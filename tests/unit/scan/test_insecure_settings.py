# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lines that turn off the verification of servers, in the forms that the tools document, and lines that do not."""

from __future__ import annotations

import pytest
from ansible_collections.hpc.onboard.plugins.module_utils._scan.insecure_settings import (
    BY_FILE,
    BY_POINTER,
    OF_PROJECTS,
    VARIABLES,
    find_insecure,
)

BY_NAME = {**dict(BY_FILE), **{name: pattern for name, (_ending, pattern) in BY_POINTER.items()}, **OF_PROJECTS}
FOUND = {
    ".gitconfig": [
        "[http] sslVerify = false",
        "\tsslverify = 0 ; the proxy",
        'sslVerify = "false"',
        "sslVerify =",
        "sshCommand = ssh -o 'UserKnownHostsFile=/dev/null' -oStrictHostKeyChecking=no",
        '[url "http://git.example.org/"]',
        "cl = -c http.sslVerify=false clone",
    ],
    ".condarc": [
        "ssl_verify: no",
        "ssl_verify: 'False'",
        "'ssl_verify' : false  # for the proxy",
        "channels: [http://conda.example.org/main]",
        "  - http://conda.example.org/main",
        "  lab: http://conda.example.org",
        "channel_alias: http://conda.example.org",
    ],
    ".config/pip/pip.conf": [
        "trusted-host =",
        "trusted_host: pypi.org",
        "index-url=http://pypi.example.org/simple",
        "extra-index-url = https://a http://b.example.org",
        "    http://pypi.example.org/simple",
        "find-links = http://wheels.example.org",
    ],
    ".config/uv/uv.toml": [
        'allow-insecure-host = ["pypi.example.org"]',
        "allow-insecure-host = [",
        'url = "http://pypi.example.org/simple"',
        'index = [{ url = "http://pypi.example.org/simple" }]',
        'index-url = "http://pypi.example.org/simple"',
        "extra-index-url = ['http://pypi.example.org/simple']",
    ],
    "pyproject.toml": ['url = "http://pypi.example.org/simple"'],
    ".npmrc": ["strict-ssl=false", 'strict-ssl = "false"', "@lab:registry=http://npm.example.org/"],
    ".curlrc": ["-k", "--insecure", "insecure", "-sk", "-kL", "insecure = true", "-k # the proxy"],
    "CURL_HOME": ["-k"],
    ".yarnrc.yml": [
        "enableStrictSsl: false",
        '  "enableStrictSsl": "false"',
        'npmRegistryServer: "http://npm.example.org"',
        "unsafeHttpWhitelist:",
        "unsafeHttpWhitelist: [npm.example.org]",
    ],
    ".yarnrc": ['"strict-ssl" false', "strict-ssl false", 'registry "http://npm.example.org"'],
    ".wgetrc": ["check_certificate=off", "check-certificate = no", "CheckCertificate = off", "check_certificate=quiet"],
    ".lftprc": [
        "set ssl:verify-certificate no",
        "set ssl:verify-certificate/ftp.example.org false",
        "set ssl:check-hostname off",
        "set ftp:ssl-allow no",
        "set sftp:auto-confirm yes",
        'set sftp:connect-program "ssh -a -x -o StrictHostKeyChecking=no"',
    ],
    ".config/aria2/aria2.conf": ["check-certificate=false"],
    ".config/rclone/rclone.conf": [
        "no_check_certificate = true",
        "override.no_check_certificate = yes",
        "endpoint = http://s3.example.org",
        "url = http://dav.example.org",
    ],
    ".s3cfg": ["use_https = False", "check_ssl_certificate=no", "check_ssl_hostname = False"],
    ".bundle/config": [
        'BUNDLE_SSL_VERIFY_MODE: "0"',
        'BUNDLE_MIRROR__HTTPS://RUBYGEMS__ORG/: "http://gems.example.org"',
    ],
    ".gemrc": [":ssl_verify_mode: 0", "- http://rubygems.org/", ":sources: [http://gems.example.org]"],
    ".Rprofile": [
        'options(repos = "http://cran.example.org")',
        '  CRAN = "http://cran.example.org"',
        'r["CRAN"] <- "http://cran.example.org"',
        'options(download.file.method = "curl", download.file.extra = "-k -L")',
        "httr::set_config(httr::config(ssl_verifypeer = 0L))",
        "options(RCurlOptions = list(ssl.verifypeer = FALSE))",
    ],
    ".pythonrc": ["ssl._create_default_https_context = ssl._create_unverified_context"],
    ".config/wandb/settings": ["base_url = http://wandb.example.org:8080", "insecure_disable_ssl = True"],
    ".docker/daemon.json": ['{"insecure-registries": ["r.example.org"]}', '  "insecure-registries": ['],
    ".kube/config": ["    insecure-skip-tls-verify: true"],
    ".ssh/config": [
        'StrictHostKeyChecking "no"',
        "userknownhostsfile=/dev/null",
        "Match all\nStrictHostKeyChecking off",
    ],
    "sh": [
        "export GIT_SSL_NO_VERIFY=1",
        "setenv GIT_SSL_NO_VERIFY true",
        "set -gx GIT_SSL_NO_VERIFY true",
        "SETUVAR --export NODE_TLS_REJECT_UNAUTHORIZED:0",
        "export NODE_TLS_REJECT_UNAUTHORIZED='0'",
        "NODE_TLS_REJECT_UNAUTHORIZED DEFAULT=0",
        "Environment=PYTHONHTTPSVERIFY=0",
        '  "env": {"PYTHONHTTPSVERIFY": "0"}',
        'os.environ["PYTHONHTTPSVERIFY"] = "0"',
        "$ENV{PERL_LWP_SSL_VERIFY_HOSTNAME} = 0;",
        'ENV["JULIA_SSL_NO_VERIFY_HOSTS"] = "**"',
        "export JULIA_NO_VERIFY_HOSTS='**' JULIA_NUM_THREADS=4",
        "setenv PIP_TRUSTED_HOST pypi.org",
        "export PIP_INDEX_URL=http://pypi.example.org/simple",
        'export UV_DEFAULT_INDEX="lab=http://pypi.example.org/simple"',
        "set -x UV_INSECURE_HOST pypi.example.org",
        "export CONDA_SSL_VERIFY=False",
        "export npm_config_strict_ssl=false YARN_ENABLE_STRICT_SSL=0",
        "export npm_config_registry=http://npm.example.org",
        "export BUNDLE_SSL_VERIFY_MODE=0",
        "export WANDB_BASE_URL=http://wandb.example.org",
        "CURL_CA_BUNDLE= python3 train.py",
        "export CURL_CA_BUNDLE='' REQUESTS_CA_BUNDLE=''",
        'setenv REQUESTS_CA_BUNDLE ""',
        "export GIT_SSH_COMMAND='ssh -o StrictHostKeyChecking=no'",
        'set -gx GIT_SSH_COMMAND "ssh -oUserKnownHostsFile=/dev/null"',
        "alias ssh 'ssh -o StrictHostKeyChecking=no'",
        "abbr -a ssh ssh -o StrictHostKeyChecking=no",
        'ssh() { command ssh -o "StrictHostKeyChecking no" "$@"; }',
        "  command ssh -o StrictHostKeyChecking=no $argv",
        "Sys.setenv(CURL_CA_BUNDLE = '')",
        "os.environ['REQUESTS_CA_BUNDLE'] = \"\"",
        "python3 -c 'import ssl; ssl._create_default_https_context = ssl._create_unverified_context'",
        "curl \\\n  -k",
        "alias curl='curl -sk'",
        "curl -fLk -O https://data.example.org/a",
        "curl --insecure https://data.example.org/a",
        "alias wget 'wget --no-check-certificate'",
        "  --no-check-certificate \\",
        "aria2c --check-certificate=false https://data.example.org/a",
        "git -c http.sslVerify=false clone https://git.example.org/a",
        "git config --global http.sslVerify false",
        "conda config --set ssl_verify no",
        "npm config set strict-ssl false",
        "npm --registry=http://npm.example.org install",
        "pip install --trusted-host pypi.org torch",
        "pip install -i http://pypi.example.org/simple torch",
        "pip config set global.trusted-host pypi.org",
        "uv pip install --allow-insecure-host pypi.org torch",
        "lftp -e 'set ssl:verify-certificate no; mirror a' ftp.example.org",
        "s3cmd --no-ssl get s3://a",
        "apptainer pull --no-https docker://r.example.org/a",
        "podman pull --tls-verify=false r.example.org/a",
        "wandb login --host=http://wandb.example.org",
        '  "http.proxyStrictSSL": false,',
    ],
}
NOT_FOUND = {
    ".gitconfig": [
        "sslVerify = true",
        "# sslVerify = false",
        '[url "git@git.example.org:"]',
        "proxy = http://p.example.org",
    ],
    ".condarc": [
        "ssl_verify: true",
        "  http: http://proxy.example.org:3128",
        "# - http://x.example.org",
        "ssl_verify: /ca",
    ],
    ".config/pip/pip.conf": [
        "index-url = http://localhost:3141",
        "proxy = http://p.example.org",
        "trusted-host = localhost",
    ],
    ".config/uv/uv.toml": ["allow-insecure-host = []", 'url = "https://x"', 'url = "http://127.0.0.1:3141/simple"'],
    "pyproject.toml": ['Homepage = "http://lab.example.org"'],
    ".npmrc": ["proxy=http://p.example.org:3128", "strict-ssl=true", "registry=http://localhost:4873/"],
    ".curlrc": ["proxy = http://p.example.org", "-L", "#insecure", "insecure = false", "keepalive-time = 2"],
    ".wgetrc": ["check_certificate = on", "# check_certificate = off", "http_proxy = http://p.example.org"],
    ".lftprc": ["set ssl:verify-certificate yes", "# set ssl:verify-certificate no", "set net:timeout 0"],
    ".config/rclone/rclone.conf": ["endpoint = https://s3.example.org", "no_check_certificate = false"],
    ".s3cfg": ["use_https = True", "proxy_host = http://p.example.org"],
    ".Rprofile": ['options(repos = "https://cran.example.org")', "# http://cran.example.org", "ssl_verifypeer = 1L"],
    ".docker/daemon.json": ['"insecure-registries": []'],
    ".ssh/config": [
        "Host vm\nStrictHostKeyChecking no",
        "StrictHostKeyChecking accept-new",
        "Match user a\nuserknownhostsfile none",
    ],
    "sh": [
        "# export GIT_SSL_NO_VERIFY=1",
        "unset GIT_SSL_NO_VERIFY CURL_CA_BUNDLE",
        '[ "$GIT_SSL_NO_VERIFY" = 1 ] && echo unsafe',
        "export NODE_TLS_REJECT_UNAUTHORIZED=1",
        "export CURL_CA_BUNDLE=/etc/ssl/ca.pem",
        "export REQUESTS_CA_BUNDLE=$CURL_CA_BUNDLE",
        "export http_proxy=http://proxy.example.org:3128",
        "export WANDB_BASE_URL=http://localhost:8080",
        "export WANDB_BASE_URL=http://$(hostname):8080",
        "curl -k https://localhost:8888/api",
        "curl -k \\\n  https://localhost:8888/api",
        "sort \\\n  -k 2",
        "curl -L -o k https://data.example.org/k; du -k .",
        "wget http://data.example.org/a.tar.gz",
        "ssh -o StrictHostKeyChecking=no node01 hostname",
        "ssh -o StrictHostKeyChecking=accept-new login.example.org",
        "echo 'do not use --no-check-certificate'",
        "pip install -r requirements.txt  # not --trusted-host x",
        "git config --get http.sslVerify",
        "podman pull --tls-verify=true r.example.org/a",
        "enroot import docker://nvcr.io#nvidia/pytorch:24.03-py3",
    ],
}


def cases(table: dict[str, list[str]]) -> list[tuple[str, str]]:
    """The pairs of a file's name and a text."""
    return [(name, text) for name, texts in table.items() for text in texts]


@pytest.mark.parametrize(("name", "text"), cases(FOUND))
def test_a_line_that_turns_the_check_off_is_found(name: str, text: str) -> None:
    assert list(find_insecure(BY_NAME.get(name, VARIABLES), text + "\n")) == [text.count("\n") + 1]


@pytest.mark.parametrize(("name", "text"), cases(NOT_FOUND))
def test_a_line_that_keeps_the_check_is_not_found(name: str, text: str) -> None:
    assert list(find_insecure(BY_NAME.get(name, VARIABLES), text + "\n")) == []
