# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A home that opens only to a Kerberos ticket, and to which none came along: that is not a broken one."""

import os

from .._core.errors import AccountError

NONE_CAME = (
    "the home %s opens only to a Kerberos ticket, and none came along. On your machine 'klist -f' must show the flag F"
    " ('kinit -f' gets such a ticket), ssh must use it (a key that lets you in brings none), and no setting of yours"
    " may say GSSAPIDelegateCredentials no. Then run again"
)


def check_ticket(home: str) -> None:
    """Raise AccountError where the home is shut, and this session has no ticket: sshd names a forwarded one."""
    if not os.environ.get("KRB5CCNAME") and not os.access(home, os.R_OK | os.X_OK):
        raise AccountError(NONE_CAME % home)
