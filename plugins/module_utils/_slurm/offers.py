# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The offers of Slurm to a user, and the conclusions from them. queries.py asks for them, once a day."""

from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Optional

from .._core.host import Host

MEMORY_KEY = "slurm"  # of the offers in host.account.found

Document = Dict[str, Any]
"""accounts: [{name, qos, default_qos}], or None if unknown. default: the account that Slurm uses for a job that names
none, or empty. partitions: [{name, gpus, most, minutes}], or None if unknown; gpus: the types that a job can request,
"" for GPUs without a type; most: GPUs of one node, if it has any; minutes: the longest time of a job, None if
unlimited. default_partition: of a job that names none; empty if Slurm refuses such a job, None if unknown. missed: a
sentence for each program that gave no answer."""
REPORTED = ("accounts", "default", "partitions", "default_partition", "missed")


PURPOSES = {"gpu": "jobs with GPUs", "cpu": "jobs without a GPU"}  # which accounts with suffixes are told apart by


class SlurmAccountChoice(NamedTuple):
    """The Slurm account of a user's jobs. If it is empty, why says the reason and what to do."""

    account: str
    why: str = ""


def choose_account(
    offers: Mapping[str, Any], setting: str, likely: str, suffixes: Mapping[str, str], purpose: str
) -> SlurmAccountChoice:
    """Return the Slurm account of jobs of one purpose, a key of PURPOSES.

    setting: the user's choice. likely: the project, if accounts are named so. suffixes: purpose -> the end of the names
    of its accounts; empty if the site does not tell them apart. A name for the other purpose stands for its project.
    """
    if offers.get("accounts") is None:
        return SlurmAccountChoice(setting or likely)
    names = [one["name"] for one in offers["accounts"]]
    by_lower_name = {name.lower(): name for name in names}  # Slurm stores names in small letters
    suffix = suffixes.get(purpose, "")
    others = tuple(other for other in suffixes.values() if other != suffix)
    chosen = (setting or likely).lower()
    is_for_others = bool(others) and chosen.endswith(others)
    for name in ([strip_suffix(chosen, suffixes) + suffix] if is_for_others else []) + [chosen, chosen + suffix]:
        if name in by_lower_name:
            return SlurmAccountChoice(by_lower_name[name])
    fitting = [name for name in names if not name.endswith(others)] if others else names
    if not setting and len(fitting) == 1:
        return SlurmAccountChoice(fitting[0])
    return SlurmAccountChoice("", _explain_no_account(names, fitting, setting, suffixes, purpose))


def _explain_no_account(
    names: List[str], fitting: List[str], setting: str, suffixes: Mapping[str, str], purpose: str
) -> str:
    """Return why there is no Slurm account, and what to write. fitting: the user's accounts for the purpose."""
    if not names and not setting:
        return "Slurm has no account of yours here, so no job starts: ask your project's leader or the site"
    yours = "yours: %s" % ", ".join(names) if names else "you have none here"
    projects = [strip_suffix(name, suffixes) for name in names]
    if setting and strip_suffix(setting.lower(), suffixes) not in projects:
        why = "'%s' is not, or no longer, a Slurm account of yours (%s)" % (setting, yours)
    elif setting or not fitting:
        who = "'%s' has" % setting if setting else "you have"
        why = "%s no Slurm account for %s (%s)" % (who, PURPOSES[purpose], yours)
    else:
        why = "you have several Slurm accounts (%s)" % ", ".join(names)
    if not fitting:
        return why + ". Ask your project's leader"
    advice = ". Choose one in the accounts file: 'scheduler: {account: %s}'" % strip_suffix(fitting[0], suffixes)
    return why + advice + (", or ask your project's leader" if setting else "")


def strip_suffix(account: str, suffixes: Mapping[str, str]) -> str:
    """Return the name of a Slurm account without the suffix of a purpose.

    >>> strip_suffix("def-pi_gpu", {"cpu": "_cpu", "gpu": "_gpu"})
    'def-pi'
    """
    end = next((suffix for suffix in suffixes.values() if suffix and account.endswith(suffix)), "")
    return account[: len(account) - len(end)]


def list_qos(offers: Mapping[str, Any], account: str) -> Optional[List[str]]:
    """Return the qualities of service that jobs of an account may request, or None if unknown."""
    for offered in offers.get("accounts") or []:
        if offered["name"] == account:
            return list(offered["qos"]) or None
    return None


def get_offers(host: Host, setting: str = "", suffixes: Iterable[str] = ()) -> Document:
    """Return the offers on this account: those of a run in the last day, or Slurm's answer now, asked once per run.

    Slurm is asked again if the offers lack the account that the user has set, with each suffix as well. Parts without
    an answer keep their value.
    """
    memory = host.account.found
    kept = memory.get(MEMORY_KEY, {})
    names = {offered["name"].lower() for offered in kept.get("accounts") or []}
    is_known = not setting or bool(names & {setting.lower() + suffix for suffix in ("", *suffixes)})
    if kept.get("asked") or (kept.get("fresh") and is_known):
        return dict(kept)
    from . import queries  # once a day

    answer = queries.query_offers(host, kept.get("accounts") or [])
    parts = [(name,) for name in ("accounts", "default")] + [("partitions", "default_partition")]
    former = {name: kept.get(name) for part in parts if kept and answer.get(part[0]) is None for name in part}
    memory[MEMORY_KEY] = dict(answer, **dict(former, asked=True))
    return dict(memory[MEMORY_KEY])
