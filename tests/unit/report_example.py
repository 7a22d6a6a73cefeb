# SPDX-License-Identifier: GPL-3.0-or-later
"""A report as an audit would make it: a few accounts, every severity, and text that nobody should believe."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from ansible_collections.hpc.onboard.plugins.plugin_utils._audit.rules.catalogue import (
    CAUSES,
    CLASSES,
    RULES,
    SEVERITIES,
)
from ansible_collections.hpc.onboard.plugins.plugin_utils._documents.fix import (
    Fix,
    account_command,
    advice,
    local_command,
)

HOSTILE = (
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "<img src=x onerror=alert(1)>",
    "'\"><svg/onload=alert(1)>",
    "]]><failure message='no'/>",
    "| a | b |\n",
    "`` ` ``` code",
    "[click](javascript:alert(1))",
    "![x](http://example.invalid/x.png)",
    "&amp;&#x3c;b&gt;",
    "a\u202egnp.exe",
    "zero\u200bwidth\ufeff\u2066",
    "line\u2028and\u2029paragraph",
    "${style} $script {{ braces }} {0} %s",
    "@everyone #12 GH-3",
    "\ud800 alone \uffff \x00",
    "\\",
    "-- ?> *_~#",
)

ROLES = (
    "storage_links", "enroot_credentials", "registry_auth", "tokens", "container_caches", "conda", "path_scripts",
    "shell_environment", "watch",
)  # fmt: skip
SITES = {
    "lrz": "Leibniz Supercomputing Centre",
    "wilson": "Wilson Cluster, Fermilab",
    "dfki": "German Research Center for Artificial Intelligence",
    "daint": "CSCS Alps",
    "narval": "Digital Research Alliance of Canada",
}


def finding(rule: str, account: str, resource: str, **more: Any) -> dict[str, Any]:
    """One finding; what is not said is taken from the rule."""
    place = more.get("place", "")
    named = "\0".join((rule, account, resource, place)).encode("utf-8", "surrogatepass")
    return {
        "rule": rule,
        "account": account,
        "capability": "watch",
        "resource": resource,
        "place": "",
        "class": "changed",
        "cause": "hand",
        "severity": RULES[rule].severity,
        "text": f"{RULES[rule].title}.",
        "desired": {},
        "actual": {},
        "diff": [],
        "event": more.get("text", f"{RULES[rule].title}."),
        "since": "2026-11-20",
        "new": False,
        "changed": False,
        "baseline": "new",
        "waiver": None,
        "fingerprint": f"sha256:{hashlib.sha256(named).hexdigest()}",
        "fix": [local_command("ansible-playbook", "onboard.yml", "-l", account)],
        "owner": RULES[rule].owner,
        "declared": {"file": "inventory/accounts.yml", "line": 12},
        "help": f"docs/rules.md#{rule.lower()}",
        **more,
    }


def account(name: str, **more: Any) -> dict[str, Any]:
    """One account that was measured, all in order."""
    cluster = name.partition("@")[2]
    return {
        "name": name,
        "cluster": cluster,
        "site": SITES.get(cluster, cluster),
        "profile": {"verified_on": "2026-08-01", "status": "documented"},
        "state": "measured",
        "reason": "",
        "next": [],
        "seconds": 1.9,
        "checks": 32,
        "ok": 32,
        "capabilities": dict.fromkeys(ROLES, "ok"),
        **more,
    }


WAIVER = {
    "justification": "The group's own conda, moved in spring",
    "expires": "2027-03-31",
    "by": "ada",
    "where": "audit/waivers.yml:12",
}


def report(accounts: list[dict[str, Any]], findings: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """A report of these, its cells and numbers made to fit."""
    order = {name: number for number, name in enumerate(SEVERITIES)}
    findings = sorted(
        findings, key=lambda one: (order[one["severity"]], one["account"], one["rule"], one["resource"], one["place"])
    )
    counting = [one for one in findings if not one["waiver"]]
    for one in reversed(counting):
        for owner in accounts:
            if owner["name"] == one["account"] and owner["state"] == "measured":
                owner["capabilities"][one["capability"]] = one["severity"]
                owner["ok"] -= 1
    missed = sum(one["state"] == "unknown" for one in accounts)
    by_severity = {name: sum(one["severity"] == name for one in counting) for name in SEVERITIES}
    failed = bool(by_severity["critical"] or by_severity["high"] or missed)
    checks, fine = (sum(one[name] for one in accounts) for name in ("checks", "ok"))
    return {
        "schema": "hpc.onboard/audit/2.2",
        "run": {
            "id": "20261121T180000Z-1f3a",
            "started": "2026-11-21T18:00:00Z",
            "seconds": 41.3,
            "tool": "0.1.0",
            "ansible": "2.19.4",
            "playbook": "audit.yml",
            "limit": "",
            "tags": [],
            "fail_on": "high",
            "incomplete": "fail",
            "since": "",
        },
        "summary": {
            "accounts": len(accounts),
            "measured": len(accounts) - missed,
            "unknown": missed,
            "checks": checks,
            "ok": fine,
            "coverage_pct": round(100 * (len(accounts) - missed) / len(accounts)) if accounts else 0,
            "by_severity": by_severity,
            "by_class": {name: sum(one["class"] == name for one in counting) for name in CLASSES},
            "waived": len(findings) - len(counting),
            "new": sum(one["new"] for one in counting),
            "changed": sum(one["changed"] for one in counting),
            "resolved": len(more.get("resolved", [])),
            "accepted": sum(one["baseline"] == "unchanged" for one in counting),
            "failed": failed,
            "exit": 2 if failed else 0,
            "reasons": ["findings with severity high or worse"] * failed,
        },
        "accounts": accounts,
        "findings": findings,
        "resolved": [],
        "waivers": [],
        "history": [],
        **more,
    }


def example() -> dict[str, Any]:
    """Five accounts on five clusters, one of which did not answer."""
    credentials = "enroot credential for nvcr.io in ~/.config/enroot/.credentials"
    down = account("ada@narval", state="unknown", checks=0, ok=0, capabilities={}, seconds=12.0)
    down |= {
        "reason": "ssh: connect to host narval.alliancecan.ca port 22: Connection timed out",
        "next": [local_command("ssh", "-MNf", "narval")],
    }
    accounts = [account(name) for name in ("go42tum@lrz", "simone@wilson", "ada@dfki", "ada@daint")] + [down]
    for name, capability in (("simone@wilson", "enroot_credentials"), ("ada@dfki", "registry_auth")):
        next(one for one in accounts if one["name"] == name)["capabilities"][capability] = "not_applicable"
    findings = [
        finding(
            "SEC-001", "go42tum@lrz", credentials, capability="enroot_credentials", new=True,
            place="~/.config/enroot/.credentials", text="The file with the key for nvcr.io can be read by the group.",
            desired={"mode": "0600"}, actual={"mode": "0640"}, since="2026-11-21",
            fix=[local_command("ansible-playbook", "onboard.yml", "-l", "go42tum@lrz", "--tags", "enroot_credentials")],
        ),
        finding(
            "KEY-002", "go42tum@lrz", credentials, capability="enroot_credentials", **{"class": "stale"},
            place="~/.config/enroot/.credentials:3", text="The file holds another key for nvcr.io.",
            desired={"key": "key a1b2c3d4"}, actual={"key": "key 9f0c77aa"}, since="2026-08-12",
            fix=[local_command("ansible-playbook", "rotate_ngc.yml", "-e", "rotate_resume=true")],
        ),
        finding(
            "LNK-003", "simone@wilson", "link ~/wclustre", capability="storage_links", cause="site", place="~/wclustre",
            text="~/wclustre leads to /wclustre/deep_lgt/simone, which is not there.", **{"class": "broken"},
            desired={"target": "/wclustre/deep_lgt/simone"}, actual={"target": "/wclustre/deep_lgt/simone (gone)"},
            fix=[advice("Ask the site whether /wclustre was moved."), local_command("ansible-playbook", "onboard.yml")],
        ),
        finding(
            "KEY-007", "ada@dfki", "key ngc", capability="tokens", cause="time", **{"class": "at_risk"},
            text="The NGC key expires in 9 days.", desired={"expires": "in 14 days or more"},
            actual={"expires": "2026-11-30"}, fix=[local_command("ansible-playbook", "rotate_ngc.yml")], declared=None,
        ),
        finding(
            "PKG-002", "simone@wilson", "conda init in ~/.bashrc", place="~/.bashrc:41", waiver=WAIVER,
            **{"class": "unmanaged"}, text="~/.bashrc holds a block of 'conda init'.",
        ),
        finding(
            "ENV-002", "ada@daint", "environment in ~/.bashrc", capability="shell_environment", place="~/.bashrc:7",
            desired={"line": "[ -r ~/.config/hpc.onboard/env.sh ] && . ~/.config/hpc.onboard/env.sh"},
            actual={"line": "# [ -r ~/.config/hpc.onboard/env.sh ]"}, new=True,
            text="The line that reads our settings was commented out.",
        ),
        finding(
            "ORP-001", "ada@dfki", "script ~/bin/old-run.sh", capability="path_scripts", place="~/bin/old-run.sh",
            cause="spec", **{"class": "orphan"},
            fix=[account_command(["rm", "~/bin/old-run.sh"], ["ansible", "ada@dfki"])],
            declared=None, text="~/bin/old-run.sh was set up here and is not declared any more.",
        ),
        finding(
            "RUN-001", "ada@daint", "quota of /capstor/scratch", severity="info", cause="unknown",
            **{"class": "unknown"}, text="The quota of /capstor/scratch could not be read.",
            fix=[advice("Look with 'quota' on the login node.")], place="/capstor/scratch",
        ),
        finding(
            "RUN-002", "ada@narval", "account ada@narval", capability="account", cause="unknown",
            **{"class": "unknown"}, text="The account could not be measured: connection timed out.",
            fix=[local_command("ssh", "-MNf", "narval")],
        ),
    ]  # fmt: skip
    resolved = {
        **{"fingerprint": "sha256:" + "c" * 64, "rule": "DIR-001", "account": "ada@dfki"},
        **{"resource": "folder /netscratch/ada", "since": "2026-11-02"},
    }
    waivers = [
        {"rule": "PKG-002", "account": "simone@wilson", "resource": "*", **WAIVER, "state": "used"},
        {"rule": "USE-001", "account": "*@lrz", "resource": "*", **WAIVER, "state": "expired"},
    ]
    waivers[1] |= {"expires": "2026-10-01", "where": "audit/waivers.yml:20"}
    return report(accounts, findings, resolved=[resolved], waivers=waivers, history=history(18))


def history(runs: int) -> list[dict[str, Any]]:
    """What former runs found."""
    return [
        {
            "started": f"2026-{10 + day // 30:02}-{1 + day % 30:02}T18:00:00Z",
            "accounts": 5,
            "unknown": 1 if day % 7 == 3 else 0,
            "by_severity": {
                "critical": 1 if 4 <= day <= 6 else 0, "high": (day * 7) % 4, "medium": 2 + day % 3,
                "low": max(0, 6 - day // 3), "info": 1,
            },
            "new": day % 3 or None,
            "resolved": day % 2 if day % 3 else None,
        }
        for day in range(runs)
    ]  # fmt: skip


def steps(text: str, number: int) -> Fix:
    """A fix that holds the text: one of each kind, by turns."""
    kinds: list[Fix] = [
        [local_command("ansible-playbook", text)],
        [advice(text), local_command(text)],
        [account_command(["rm", text], ["ansible", text])],
        [account_command(["rm", text], None)],
    ]
    return kinds[number % len(kinds)]


def hostile() -> dict[str, Any]:
    """A report in which every text that an account could have written is bad."""
    accounts = [account("ada@dfki"), account("ada@lrz", state="unknown", capabilities={})]
    findings = []
    rules = list(RULES)
    for number, text in enumerate(HOSTILE):
        accounts[0]["capabilities"][f"watch{text}"] = "low"
        findings.append(
            finding(
                rules[number], "ada@dfki", text, place=text, text=text, desired={text: text}, actual={text: text},
                diff=["--- desired", "+++ found", f"-{text}", f"+{text}", text], event=text, changed=True,
                fix=steps(text, number), declared={"file": text, "line": 1}, cause=CAUSES[number % len(CAUSES)],
                waiver={"justification": text, "expires": "2027-01-01", "by": text, "where": text}
                if number % 3 == 0 else None,
            )
        )  # fmt: skip
    everything = "".join(HOSTILE)
    accounts[1] |= {"reason": everything, "next": [advice(everything), local_command(*HOSTILE)], "site": everything}
    gone = {"fingerprint": "sha256:" + "d" * 64, "rule": "DIR-001", "account": "ada@dfki", "since": "2026-11-02"}
    waiver = {"rule": "*", "account": everything, "resource": everything, **WAIVER, "justification": everything}
    made = report(
        accounts, findings, resolved=[{**gone, "resource": everything}], waivers=[{**waiver, "state": "unused"}],
        history=history(3),
    )  # fmt: skip
    made["run"] |= {"limit": everything, "tags": [everything], "playbook": everything}
    made["summary"]["reasons"] = [everything]
    return made


def large(accounts: int, findings: int) -> dict[str, Any]:
    """A group of many accounts: the findings are on a tenth of them."""
    clusters = list(SITES)
    names = [f"u{number:03}@{clusters[number % len(clusters)]}" for number in range(accounts)]
    rules = [name for name in RULES if not name.startswith("RUN")]
    bad = names[:: 10 if findings < 1000 else 1]
    made = [
        finding(
            rules[number % len(rules)], bad[number % len(bad)], f"thing {number}", place=f"~/place/{number}:{number}",
            capability=ROLES[number % len(ROLES)], new=number % 9 == 0,
            desired={"mode": "0600", "target": "/work/project/simone"}, actual={"mode": "0644", "target": "/work"},
            waiver=WAIVER if number % 50 == 49 else None, cause=CAUSES[number % len(CAUSES)],
            **{"class": CLASSES[number % len(CLASSES)]},
        )
        for number in range(findings)
    ]  # fmt: skip
    return report([account(name) for name in names], made, history=history(60))


def empty() -> dict[str, Any]:
    """No account matched."""
    return report([], [])


def nothing_measured() -> dict[str, Any]:
    """Two accounts, and neither answers."""
    names = ("ada@dfki", "simone@wilson")
    gone = {"state": "unknown", "capabilities": {}, "checks": 0, "ok": 0, "reason": "timed out"}
    gone["next"] = [local_command("kinit")]
    return report([account(name, **gone) for name in names], [])


def in_order() -> dict[str, Any]:
    """Nothing to say."""
    return report([account("ada@dfki")], [])


REPORTS = {
    "example": example(),
    "hostile": hostile(),
    "large": large(300, 400),
    "empty": empty(),
    "nothing_measured": nothing_measured(),
    "in_order": in_order(),
}


def copy(document: dict[str, Any]) -> dict[str, Any]:
    """An equal document that shares nothing with the first."""
    made: dict[str, Any] = json.loads(json.dumps(document))
    return made
