# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Slurm's offers to a user, and the choice of a Slurm account. queries.py queries the offers, once a day."""

from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Optional

from .._core.host import Host

MEMORY_KEY = "slurm"  # the offers are host.account.facts[MEMORY_KEY]

Document = Dict[str, Any]
"""The offers. accounts: [{name, qos, default_qos}], or None if unknown. default: the account of jobs that name no
account, or empty. partitions: [{name, gpus, most, minutes}], or None if unknown; gpus: the types that jobs can request,
"" for GPUs without a type; most: GPUs of one node, if it has any; minutes: the time limit, None if unlimited.
default_partition: of jobs that name no partition; empty if Slurm rejects these, None if unknown. missed: the reasons
why programs gave no output, with the names of the programs."""
REPORTED = ("accounts", "default", "partitions", "default_partition", "missed")  # keys that a run reports

PURPOSES = {"gpu": "jobs with GPUs", "cpu": "jobs without a GPU"}  # some sites have a Slurm account for each


class SlurmAccountChoice(NamedTuple):
    """The Slurm account of a user's jobs. why: if the account is empty, the reason and what to do."""

    account: str
    why: str = ""


def choose_account(
    offers: Mapping[str, Any], setting: str, likely: str, suffixes: Mapping[str, str], purpose: str
) -> SlurmAccountChoice:
    """Return the Slurm account of jobs of one purpose, a key of PURPOSES.

    offers: see Document. setting: the user's choice, or "". likely: the project, if the site names accounts after
    projects, or "". suffixes: purpose -> suffix of its accounts; empty if a site has one account for all purposes. A
    setting with the suffix of the other purpose means the account of the same project.
    """
    if offers.get("accounts") is None:  # the user's accounts are unknown, so the setting cannot be checked
        return SlurmAccountChoice(setting or likely)
    names = [account["name"] for account in offers["accounts"]]
    by_lower_name = {name.lower(): name for name in names}  # Slurm stores names in lower case; settings may differ
    suffix = suffixes.get(purpose, "")
    other_suffixes = tuple(other for other in suffixes.values() if other != suffix)
    chosen = (setting or likely).lower()  # an account, or a project whose accounts have suffixes
    candidates = [chosen, chosen + suffix]
    if other_suffixes and chosen.endswith(other_suffixes):
        candidates.insert(0, strip_suffix(chosen, suffixes) + suffix)
    for name in candidates:
        if name in by_lower_name:
            return SlurmAccountChoice(by_lower_name[name])
    usable = [name for name in names if not name.endswith(other_suffixes)] if other_suffixes else names
    if not setting and len(usable) == 1:  # nothing to choose from
        return SlurmAccountChoice(usable[0])
    return SlurmAccountChoice("", _explain_no_account(names, usable, setting, suffixes, purpose))


def _explain_no_account(
    names: List[str], usable: List[str], setting: str, suffixes: Mapping[str, str], purpose: str
) -> str:
    """Return why no Slurm account was chosen, and what to do.

    names: all Slurm accounts of the user. usable: the accounts for the purpose. setting, suffixes and purpose: see
    choose_account().
    """
    if not names and not setting:
        return "you cannot run jobs, because you have no Slurm account on this cluster: ask your project leader for one"
    yours = "you have: %s" % ", ".join(names) if names else "you have none"
    projects = [strip_suffix(name, suffixes) for name in names]
    if setting and strip_suffix(setting.lower(), suffixes) not in projects:
        why = "'%s' is not one of your Slurm accounts (%s)" % (setting, yours)
    elif setting:
        why = "project '%s' has no Slurm account for %s (%s)" % (setting, PURPOSES[purpose], yours)
    elif not usable:
        why = "you have no Slurm account for %s (%s)" % (PURPOSES[purpose], yours)
    else:
        why = "you have several Slurm accounts (%s)" % ", ".join(names)
    if not usable:
        return "%s. Ask your project leader for a Slurm account" % why
    text = "%s. Set 'scheduler: {account: %s}' in the accounts file"
    if setting:
        text = "%s. Set 'scheduler: {account: %s}' in the accounts file, or ask your project leader for access"
    return text % (why, strip_suffix(usable[0], suffixes))


def strip_suffix(account: str, suffixes: Mapping[str, str]) -> str:
    """Return the name of a Slurm account without the suffix of a purpose.

    >>> strip_suffix("def-pi_gpu", {"cpu": "_cpu", "gpu": "_gpu"})
    'def-pi'
    """
    suffix = next((suffix for suffix in suffixes.values() if suffix and account.endswith(suffix)), "")
    return account[: len(account) - len(suffix)]


def list_qos(offers: Mapping[str, Any], account: str) -> Optional[List[str]]:
    """Return the QOS that jobs of an account may request, or None if unknown."""
    for offer in offers.get("accounts") or []:
        if offer["name"] == account:
            return list(offer["qos"]) or None  # an empty list: only the account's name could be queried
    return None


def get_offers(host: Host, setting: str = "", suffixes: Iterable[str] = ()) -> Document:
    """Return Slurm's offers to this account (see Document), from the last day, or else from new queries.

    setting: the Slurm account that the user has set, or "". suffixes: what a site appends to the names of accounts.
    Slurm is queried at most once per run, also if the offers of the last day lack the setting. The fields of a failed
    query keep their earlier values.
    """
    memory = host.account.facts  # results that the resources of a run share
    earlier = memory.get(MEMORY_KEY, {})
    names = {offer["name"].lower() for offer in earlier.get("accounts") or []}
    has_setting = not setting or bool(names & {setting.lower() + suffix for suffix in ("", *suffixes)})
    # asked: queried in this run. fresh: queried within the last day, by an earlier run.
    if earlier.get("asked") or (earlier.get("fresh") and has_setting):
        return dict(earlier)
    from . import queries  # imported late: needed once a day

    offers = queries.query_offers(host, earlier.get("accounts") or [])
    for fields in (("accounts",), ("default",), ("partitions", "default_partition")):  # the fields of each query
        if earlier and offers.get(fields[0]) is None:
            offers.update({field: earlier.get(field) for field in fields})
    memory[MEMORY_KEY] = dict(offers, asked=True)
    return dict(memory[MEMORY_KEY])
