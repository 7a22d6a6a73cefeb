"""`python -m tests.testbed up`: the testbed to play with, until Ctrl-C.

SPDX-License-Identifier: GPL-3.0-or-later
"""

import argparse
import signal
import sys
import time

from tests.testbed import Testbed, missing


def main() -> int:
    """Bring it up, say how to get in, wait."""
    parser = argparse.ArgumentParser(prog="python -m tests.testbed", description=__doc__)
    parser.add_argument("command", choices=["up"])
    parser.parse_args()
    absent = missing()
    if absent:
        print("The testbed needs: " + ", ".join(absent), file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    start = time.monotonic()
    with Testbed() as bed:
        print(f"Up in {time.monotonic() - start:.1f} s. ssh settings: {bed.ssh_config}")
        accounts = [bed.new_account(name, user="simone") for name in bed.clusters if name != "ela"]
        for account in accounts:
            print(f"  {account.cluster.name:8}{' '.join(account.ssh_command())}")
        shown = [account for account in accounts if account.cluster.name != "bare"]
        print(f"Accounts file: {bed.accounts_file(shown)}\nCtrl-C takes it down.", flush=True)
        try:
            signal.pause()
        except KeyboardInterrupt:
            print("\nTaking it down.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
