# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings and options that let other users act as the account: logins without a password, servers without a token."""

import re
from typing import Iterator, Tuple

WITHOUT_TOKEN = "this server accepts connections without a token or a password"
_EMPTY = r"(?:''|\"\"|(?=\\?[ \t]|[|&;)]|\\?$))"
_OPEN_SERVER = re.compile(  # options and variables of Jupyter, and options of VNC servers
    r"^[^#\n]*?(?:--\w*(?:App|Provider)\.token(?:=%s|[ \t]+(?:''|\"\"))|\bJUPYTER_TOKEN(?:=%s|[ \t]+(?:''|\"\"))"
    r"|\b(?:vncserver|Xvnc|x0vncserver|tigervncserver|vncsession)\b[^\n]*-(?i:SecurityTypes[ =][\"']?(?:\w+,)*None)\b"
    r"|\bx11vnc\b[^\n]*\s-nopw\b)" % (_EMPTY, _EMPTY),
    re.MULTILINE,
)
_ANY_HOST = re.compile(r"^[ \t]*\+", re.MULTILINE)
_OPEN_PYTHON = re.compile(
    r"^[ \t]*(?:c|get_config\(\))\.\w+\.(?:token[ \t]*=[ \t]*u?(?:''|\"\")|disable_check_xsrf[ \t]*=[ \t]*True)",
    re.MULTILINE,
)
_OPEN_JSON = re.compile(r"\"token\"[ \t]*:[ \t]*\"\"|\"disable_check_xsrf\"[ \t]*:[ \t]*true")
_OPEN_VNC = re.compile(r"(?i)^[ \t]*\$?SecurityTypes[ \t=]+[^\n#]*\bNone\b", re.MULTILINE)
_OF_VNC = "this remote desktop accepts connections without a password"
OPEN_LOGINS = (  # file, a pattern of the line that lets other users act as the account, and the problem
    *((name, _ANY_HOST, "this line lets users on any host log in as you") for name in (".rhosts", ".shosts")),
    *(
        (".jupyter/jupyter_%sconfig.%s" % (name, end), form, WITHOUT_TOKEN)
        for name in ("", "server_", "notebook_", "lab_", "nbclassic_")
        for end, form in (("py", _OPEN_PYTHON), ("json", _OPEN_JSON))
    ),
    *(
        (name, _OPEN_VNC, _OF_VNC)
        for name in (".vnc/config", ".config/tigervnc/config", ".vnc/tigervnc.conf", ".vnc/turbovncserver.conf")
    ),
    (".x11vncrc", re.compile(r"^[ \t]*-?nopw\b", re.MULTILINE), _OF_VNC),
)


def find_open_servers(text: str) -> Iterator[Tuple[int, str]]:
    """Yield (line number, problem) of each line of a script that starts a server without a token or a password."""
    for found in _OPEN_SERVER.finditer(text):
        yield text.count("\n", 0, found.end()) + 1, WITHOUT_TOKEN
