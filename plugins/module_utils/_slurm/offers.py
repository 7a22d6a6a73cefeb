# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The offers of Slurm to a user, and the conclusions from them. queries.py asks for them, once a day."""

from typing import Any, Dict, List, Mapping, NamedTuple, Optional

from .._core.host import Host

MEMORY_KEY = "slurm"  # of the offers in host.account.found

Document = Dict[str, Any]
"""accounts: [{name, qos, default_qos}], or None if unknown. default: the account that Slurm uses for a job that names
none, or empty. partitions: [{name, gpus}], or None if unknown; gpus: the types that a job can request, "" for GPUs
without a type. missed: a sentence for each program that gave no answer."""


class SlurmAccountChoice(NamedTuple):
    """The Slurm account of a user's jobs. If it is empty, why says the reason and what to do."""

    account: str
    why: str = ""


def choose_account(offers: Mapping[str, Any], setting: str, likely: str) -> SlurmAccountChoice:
    """Return the Slurm account of jobs. setting: the user's choice. likely: the project, if accounts are named so."""
    if offers.get("accounts") is None:
        return SlurmAccountChoice(setting or likely)
    names = [one["name"] for one in offers["accounts"]]
    by_lower_name = {name.lower(): name for name in names}  # Slurm stores names in small letters
    yours = "yours: %s" % ", ".join(names) if names else "you have none here"
    if setting and setting.lower() not in by_lower_name:
        why = "'%s' is not, or no longer, a Slurm account of yours (%s). Put 'scheduler: {account: NAME}' right in the"
        return SlurmAccountChoice("", why % (setting, yours) + " accounts file, or ask your project's leader")
    for candidate in (setting, likely):
        if candidate.lower() in by_lower_name:
            return SlurmAccountChoice(by_lower_name[candidate.lower()])
    if len(names) == 1:
        return SlurmAccountChoice(names[0])
    if not names:
        return SlurmAccountChoice(
            "", "Slurm has no account of yours here, so no job starts: ask your project's leader or the site"
        )
    why = "you have several Slurm accounts (%s). Choose one in the accounts file: 'scheduler: {account: %s}'"
    return SlurmAccountChoice("", why % (", ".join(names), names[0]))


def list_qos(offers: Mapping[str, Any], account: str) -> Optional[List[str]]:
    """Return the qualities of service that jobs of an account may request, or None if unknown."""
    for offered in offers.get("accounts") or []:
        if offered["name"] == account:
            return list(offered["qos"]) or None
    return None


def get_offers(host: Host, setting: str = "") -> Document:
    """Return the offers on this account: those of a run in the last day, or Slurm's answer now, asked once per run.

    Slurm is asked again if the offers lack the account that the user has set. Parts without an answer keep their value.
    """
    memory = host.account.found
    kept = memory.get(MEMORY_KEY, {})
    names = [offered["name"].lower() for offered in kept.get("accounts") or []]
    if kept.get("asked") or (kept.get("fresh") and (not setting or setting.lower() in names)):
        return dict(kept)
    from . import queries  # once a day

    answer = queries.query_offers(host, kept.get("accounts") or [])
    former = {name: kept[name] for name in ("accounts", "default", "partitions") if answer.get(name) is None and kept}
    memory[MEMORY_KEY] = dict(answer, **dict(former, asked=True))
    return dict(memory[MEMORY_KEY])
