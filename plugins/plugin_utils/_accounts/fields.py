# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What every field of a profile is for: a field that nothing reads has no place in a profile.

Fields are named as in the schema: storage[].purge.days. A test holds these tables against the schema, and looks into
the named files for the word.
"""

from __future__ import annotations

READ = {  # field -> the file that reads it, below plugins
    "login.host": "plugin_utils/_accounts/accounts_file.py",
    "login.port": "plugin_utils/_accounts/accounts_file.py",
    "login.jump.host": "plugin_utils/_accounts/accounts_file.py",
    "login.jump.user": "plugin_utils/_accounts/accounts_file.py",
    "login.jump.host_keys": "plugin_utils/_authentication/host_keys.py",
    "auth.archetype": "plugin_utils/_authentication/credential.py",
    "auth.renewer": "plugin_utils/_authentication/renewers.py",
    "auth.realm": "plugin_utils/_authentication/renewers.py",
    "auth.multiplexing": "plugin_utils/_accounts/open_sessions.py",
    "auth.command": "plugin_utils/_audit/local_checks.py",
    "auth.delegate": "plugin_utils/_accounts/accounts_file.py",
    "auth.session_hours": "plugin_utils/_authentication/ssh_login.py",
    "login.host_keys": "plugin_utils/_authentication/host_keys.py",
    "python": "plugin_utils/_delivery/account_session.py",
    "home.path": "plugin_utils/_accounts/sandbox.py",
    "home.bytes": "plugin_utils/_audit/watch_places.py",
    "home.files": "plugin_utils/_audit/watch_places.py",
    "home.per": "plugin_utils/_audit/watch_places.py",
    "home.on_compute": "plugin_utils/_audit/watch_keys.py",
    "storage[].path": "plugin_utils/_roles/storage_links.py",
    "storage[].variable": "plugin_utils/_accounts/profiles.py",
    "storage[].root": "plugin_utils/_roles/storage_links.py",
    "storage[].create": "plugin_utils/_roles/storage_links.py",
    "storage[].bytes": "plugin_utils/_audit/watch_places.py",
    "storage[].files": "plugin_utils/_audit/watch_places.py",
    "storage[].per": "plugin_utils/_audit/watch_places.py",
    "storage[].purge.days": "plugin_utils/_audit/watch_places.py",
    "storage[].purge.clock": "module_utils/_watches/areas.py",
    "links.by": "plugin_utils/_roles/storage_links.py",
    "container.runtime": "plugin_utils/_roles/parts/site.py",
    "container.further": "plugin_utils/_accounts/accounts_file.py",
    "container.on_login": "plugin_utils/_audit/watch_keys.py",
    "container.in_jobs": "plugin_utils/_roles/parts/site.py",
    "container.module": "plugin_utils/_roles/parts/site.py",
    "container.images": "plugin_utils/_roles/parts/site.py",
    "container.credentials": "plugin_utils/_roles/parts/site.py",
    "caches.off_home": "plugin_utils/_audit/watch_places.py",
    "caches.why_not": "plugin_utils/_roles/parts/site.py",
    "conda.policy": "plugin_utils/_roles/conda.py",
    "conda.usual": "plugin_utils/_roles/parts/site.py",
    "proxies.http": "module_utils/_options/conda_options.py",
    "proxies.https": "module_utils/_options/conda_options.py",
    "proxies.no": "module_utils/_options/conda_options.py",
    "launchers[].image": "plugin_utils/_roles/parts/site.py",
    "launchers[].mounts": "plugin_utils/_roles/parts/site.py",
    "compute.tmp": "plugin_utils/_roles/parts/site.py",
    "compute.internet": "plugin_utils/_test_job/checks.py",
    "compute.module": "plugin_utils/_roles/parts/site.py",
    "compute.proxy": "plugin_utils/_roles/parts/site.py",
    "mirrors.pypi": "plugin_utils/_roles/parts/site.py",
    "wheels.no_index": "plugin_utils/_roles/parts/site.py",
    "wheels.search": "plugin_utils/_roles/parts/site.py",
    "storage[].on_compute": "plugin_utils/_roles/parts/site.py",
    "scheduler.kind": "plugin_utils/_roles/parts/site.py",
    "scheduler.account_required": "plugin_utils/_roles/parts/site.py",
    "scheduler.account": "plugin_utils/_roles/parts/site.py",
    "scheduler.gpu": "plugin_utils/_roles/parts/site.py",
    "scheduler.cpu": "plugin_utils/_roles/parts/site.py",
    "scheduler.partitions": "plugin_utils/_audit/watch_places.py",
    "scheduler.test": "plugin_utils/_test_job/checks.py",
    "quota_command": "plugin_utils/_audit/watch_places.py",
}
COMING = {  # field -> what will read it: a door to the account, or a capability for jobs
    "login.hosts[].host": "doors: the login node of the architecture that is wanted",
    "login.hosts[].arch": "doors: the login node of the architecture that is wanted",
    "auth.certificate_hours": "doors: certificate",
    "arch": "jobs: container_images, which are of one architecture",
    "mirrors.conda": "jobs: conda, whose channels have a mirror",
    "scheduler.hours": "jobs: job_scripts",
    "scheduler.jobs": "jobs: job_scripts",
}
CHOSEN = {  # field -> the file that reads it; we chose the word, so nobody else vouches for it
    "storage[].name": "plugin_utils/_accounts/profiles.py",
    "storage[].link": "plugin_utils/_roles/storage_links.py",
    "caches.area": "plugin_utils/_accounts/profiles.py",
    "caches.path": "plugin_utils/_roles/parts/site.py",
    "caches.below": "plugin_utils/_accounts/profiles.py",
    "conda.area": "plugin_utils/_roles/parts/conda_installer.py",
    "conda.below": "plugin_utils/_roles/parts/conda_installer.py",
    "conda.by_machine": "plugin_utils/_roles/parts/conda_installer.py",
    "conda.distribution": "plugin_utils/_roles/parts/conda_installer.py",
    "launchers[].name": "plugin_utils/_roles/parts/site.py",
    "launchers[].minutes": "plugin_utils/_roles/parts/site.py",
    "sandbox_environment": "plugin_utils/_accounts/sandbox.py",
}
TOLD = {  # for people: the cheatsheet shows every one of them
    *("closing_on", "os", "login.hosts[].what", "login.network", "login.note"),
    *("auth.second_factor", "auth.keys_by", "auth.keys_url", "auth.note"),
    *("home.backup", "home.note", "storage[].backup", "storage[].ask", "storage[].note", "links.why"),
    *("container.uri_note", "container.note", "conda.why", "conda.instead"),
    *("compute.note", "mirrors.note", "wheels.note", "launchers[].note"),
    *("scheduler.accounts_command", "scheduler.notes[]", "policies[]", "traps[]"),
}


def is_relied_on(field: str) -> bool:
    """Whether a program decides by this field, today or once the doors and jobs are there: then it needs a source."""
    return field in READ or field in COMING
