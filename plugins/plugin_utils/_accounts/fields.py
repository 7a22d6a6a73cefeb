# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of all fields of a profile.

`make generate` creates the two schemas of a profile and docs/profile_facts.md from it. The pages of the clusters and
the cheat sheet read it, too. A field is named by its path in the file: storage[].purge.days.
"""

from __future__ import annotations

# ruff: noqa: F403, F405
# pylint: disable=wildcard-import, undefined-variable  # the table uses nearly all names of field_types
from .field_types import *

# fmt: off
FIELDS = (
    Field("format", one_of(2), "Version of the profile format. Required if the profile has sources.", ABOUT, 2),
    Field("id", NAME, "Short name, equal to the file's name without .yml. The name follows @ in account names, and is "
          "also an inventory group.", ABOUT, "attic", required=True),
    Field("name", TEXT, "Name that the site uses.", ABOUT, "Our institute's cluster"),
    Field("extends", NAME, "Family that this profile is based on: a file in the folder families. Facts of this profile "
          "override those of the family.", ABOUT, "cscs"),
    Field("without", list_of(FIELD),
          "Facts of the family that do not apply here, such as storage.scratch.purge. Policies, traps and notes are "
          "named by their first four words, such as policies.there-is-no-crontab.", ABOUT, ["storage.scratch.purge"]),
    Field("family", NAME, "Group of sites that share accounts and rules; also an inventory group. Omit this "
          "field for a cluster without a group.", ABOUT, "cscs"),
    Field("status", one_of("verified", "documented", "legacy", "closing", "own"),
          "verified: tested on the cluster itself. documented: taken from what the site publishes. legacy: from older "
          "or third-party texts, may be outdated. closing: the site has announced the shutdown. own (default): written "
          "by a user of the cluster.", ABOUT),
    Field("closing_on", DAY, "Day on which the site shuts down the cluster, if announced.", PEOPLE, "2027-06-30"),
    Field("formerly", list_of(NAME), "Earlier names of this profile.", ABOUT, ["attic2"]),
    Field("verified_on", DAY, "Day on which the profile was last compared with its sources, or with the cluster if its "
          "status is verified.", ABOUT, "2026-11-22"),
    Field("sources", LIST, "Documents from which the facts were taken.",
          example=[{"id": "manual", "url": "https://example.org/manual", "what": "storage", "date": "2026-01-29"}]),
    Field("sources[]", SECTION, "One source."),
    Field("sources[].id", NAME, "Short name, by which facts refer to the source.", ABOUT, "manual"),
    Field("sources[].url", URL, "Public URL. Optional only for information from third parties.", ABOUT,
          "https://example.org/manual"),
    Field("sources[].what", TEXT, "Information that was taken from the source.", ABOUT, "storage and quotas",
          required=True),
    Field("sources[].date", DATE, "Date of the document, if it has one.", ABOUT, "2023-05-11"),
    Field("sources[].third_party", BOOL, "True if the document is not from the site itself.", ABOUT),
    Field("sources[].read", DAY, "Day on which the document was read, if it has no date.", ABOUT, "2026-11-21"),
    Field("login", SECTION, "How to connect to the login node.", example={"host": "login.example.org"}, required=True),
    Field("login.host", HOST, "Host name of the login node.", "_accounts", "login.example.org", required=True),
    Field("login.port", PORT, "Port of the SSH server, if it is not 22.", "_accounts", 22),
    Field("login.hosts", LIST, "Other login nodes with their own host names, for other architectures or purposes."),
    Field("login.hosts[]", SECTION, "One login node."),
    Field("login.hosts[].host", HOST, "Host name of the login node.", "_init", "login2.pegasus.kl.dfki.de",
          required=True),
    Field("login.hosts[].arch", ARCHITECTURE, "Processor architecture, as printed by uname -m.", "_terminal"),
    Field("login.hosts[].what", TEXT, "Purpose of the login node.", PEOPLE, "GPU programs"),
    Field("login.jump", SECTION, "Jump host for all connections.", example={"host": "gate.example.org"}),
    Field("login.jump.host", HOST, "Host name of the jump host.", "_accounts", "gate.example.org", required=True),
    Field("login.jump.user", USER, "User name on the jump host, if it is the same for all users. An account's "
          "jump_user overrides this field.", "_accounts", "ada01"),
    Field("login.jump.host_keys", list_of(FINGERPRINT), "Fingerprints of the jump host's keys that the site publishes, "
          "in the format of ssh.", "_authentication", ["SHA256:qCFZThjRw8nf0CiZ9rU7b6Zirjq8slAIl5r0xWaVoD0"]),
    Field("login.host_keys", list_of(FINGERPRINT),
          "Fingerprints of host keys that the site publishes, in the format of ssh.", "_authentication",
          ["SHA256:qCFZThjRw8nf0CiZ9rU7b6Zirjq8slAIl5r0xWaVoD0", "SHA256:ypbqdMWtk9ZdXEROkeEpv+3PCEXWjPLGI79IXGHe9ac"]),
    Field("login.network", TEXT, "Network that is required to connect, such as a VPN or a campus network.", PEOPLE,
          "The DFKI VPN."),
    Field("login.note", TEXT, NOTE, PEOPLE, "lumi-uan01 to lumi-uan04.csc.fi are the individual login nodes."),
    Field("auth", SECTION, "How the login node authenticates users.", example={"archetype": "key"}),
    Field("auth.archetype", METHOD,
          "key: an SSH key only. key_otp: key or password, and a one-time code at every new connection. key_then_otp: "
          "a key, then a one-time code; passwords are refused. password_otp: password and one-time code; keys are "
          "refused. session: a key, after a second factor has opened a session of some hours. certificate: a signed "
          "key with a short lifetime. agent_certificate: a signed key that the site adds to a forwarded SSH agent. "
          "kerberos: a ticket. password: a password only. no_automation: programs may not log in, or only run commands "
          "of the site; hpc-onboard writes a script, and you run it on the cluster.", "_authentication", "key",
          required=True),
    Field("auth.second_factor", TEXT, "The second factor, in the site's words.", PEOPLE, "Duo"),
    Field("auth.certificate_hours", COUNT, "Hours for which a certificate is valid.", "_terminal", 24),
    Field("auth.session_hours", COUNT, "Hours for which a session stays open after the second factor.",
          "_authentication", 12),
    Field("auth.renewer", one_of("cscs-key", "step", "kinit", "sshproxy"), "Program that creates a new certificate or "
          "ticket. hpc-onboard sets its arguments; a profile cannot.", "_authentication"),
    Field("auth.multiplexing", one_of("required", "recommended", "allowed", "forbidden"),
          "Whether several sessions must, should, may or must not share one SSH connection.", "_accounts"),
    Field("auth.realm", REALM, "Kerberos realm of the tickets.", "_authentication", "FNAL.GOV"),
    Field("auth.delegate", BOOL, "True if the home can be read only with forwarded Kerberos credentials.", "_accounts"),
    Field("auth.command", COMMAND, "Command, without quotes or pipes, that creates the credential on your own machine. "
          "hpc-onboard prints the command, but never runs it.", "_audit", "cscs-key sign"),
    Field("auth.keys_by", TEXT, "How to register public keys, if ssh-copy-id is not the only way.", PEOPLE,
          "The CCDB portal, or ssh-copy-id."),
    Field("auth.keys_url", URL, "Page on which public keys are registered.", PEOPLE,
          "https://ccdb.alliancecan.ca/ssh_authorized_keys"),
    Field("auth.note", TEXT, NOTE, PEOPLE, "Key pairs are disabled for users."),
    Field("python", list_of(PROGRAM), "Absolute paths of Python interpreters to try before the usual names, best "
          "first.", "_delivery", ["/usr/bin/python3.11"]),
    Field("arch", list_of(ARCHITECTURE), "Processor architectures, as printed by uname -m.", "_probe", ["x86_64"]),
    Field("os", TEXT, "Operating system of the login nodes.", PEOPLE, "Rocky Linux 9.6"),
    Field("home", SECTION, "The home directory.", example={"path": "/home/{user}"}, required=True),
    Field("home.path", PATH, "Path of the home, also in the sandbox. Omit this field if the path cannot be derived "
          "from the user name.", "_accounts", "/home/{user}"),
    Field("home.bytes", COUNT, BYTES, "_audit", 5000000000),
    Field("home.files", COUNT, FILES, "_audit", 500000),
    Field("home.per", SHARED_BY, QUOTA_OWNER, "_audit"),
    Field("home.backup", BOOL, "True if the site backs up the home.", PEOPLE),
    Field("home.on_compute", IN_JOBS, JOB_ACCESS, "_audit"),
    Field("home.note", TEXT, NOTE, PEOPLE, "The 20 GB are shared by all users; scripts and settings only."),
    Field("storage", LIST, "Storage areas in addition to the home.",
          example=[{"name": "scratch", "path": "/scratch/{user}"}]),
    Field("storage[]", SECTION, "One storage area."),
    Field("storage[].name", AREA, "Name of the area; an account's storage settings use it.", "_accounts", "scratch",
          chosen=True, required=True),
    Field("storage[].path", PATH, "The account's own folder in the area.", "_roles", "/scratch/{user}"),
    Field("storage[].variable", VARIABLE, "Environment variable, set by the site, that contains the path. "
          "hpc-onboard resolves the variable on the account.", "_accounts", "$WORK"),
    Field("storage[].root", PATH, "Existing folder, created by the site, in which the account may create its own "
          "folder.", "_roles", "/scratch"),
    Field("storage[].create", BOOL, "True if the account may create its own folder below root.", "_roles"),
    Field("storage[].link", LINK,
          "Name of the link to the area in the home; links.by defines who creates it. Names of folders that programs "
          "read (bin, lib, R, perl5, go, miniconda3, jobs) are not allowed.", "_roles", "scratch", chosen=True),
    Field("storage[].bytes", COUNT, BYTES, "_audit", 25000000000),
    Field("storage[].files", COUNT, FILES, "_audit", 5000),
    Field("storage[].hard_bytes", COUNT, "Hard limit in bytes, if the field bytes contains the soft limit.", PEOPLE,
          50000000000),
    Field("storage[].grace_days", POSITIVE, "Days for which usage may exceed the soft limit.", PEOPLE, 60),
    Field("storage[].per", SHARED_BY, QUOTA_OWNER, "_audit"),
    Field("storage[].backup", BOOL, "True if the site backs up the area.", PEOPLE),
    Field("storage[].purge", SECTION, "Rule by which the site deletes old files."),
    Field("storage[].purge.days", POSITIVE, "Days after which a file may be deleted.", "_audit", 30, required=True),
    Field("storage[].purge.clock", one_of("atime", "ctime_and_atime", "age"),
          "Time from which the days are counted. atime: last access. ctime_and_atime: last change or access, whichever "
          "is later. age: last write.", "_storage_checks", required=True),
    Field("storage[].on_compute", IN_JOBS, JOB_ACCESS, "_roles"),
    Field("storage[].ask", TEXT, "How users find the area's path, if the profile cannot contain the path. They then "
          "set the path in the account's storage.", PEOPLE, "Your group's folder in /network/projects."),
    Field("storage[].note", TEXT, NOTE, PEOPLE, "No quota."),
    Field("links", SECTION, "Links from the home directory to the storage areas.", example={"by": "us"}),
    Field("links.by", one_of("us", "site"), "us: hpc-onboard creates the links. site: the site creates them, and "
          "hpc-onboard does not change them.", "_roles", "us", required=True),
    Field("links.why", TEXT, "Reason why the site creates the links, as shown to users.", PEOPLE,
          "The site creates the links some hours after the first login."),
    Field("container", SECTION, "How to run containers.", example={"runtime": "apptainer"}),
    Field("container.runtime", RUNTIME, "Container runtime for image files in jobs; also an inventory group.", "_roles",
          "apptainer", required=True),
    Field("container.further", list_of(RUNTIME), "Other runtimes, best first; also inventory groups. They replace a "
          "runtime that hpc-onboard does not support.", "_roles", ["apptainer"]),
    Field("container.on_login", BOOL, "True if login nodes also have the runtime.", "_audit"),
    Field("container.in_jobs", one_of("pyxis", "environment"), "How a job starts a container, if not with the "
          "runtime's own program: pyxis (srun --container-image) or environment (srun --environment, CSCS).", "_roles"),
    Field("container.module", MODULE, "Environment module that provides the runtime.", "_roles", "apptainer"),
    Field("container.credentials", PATH, "File from which enroot reads registry credentials at this site.", "_roles",
          "~/enroot/.credentials"),
    Field("container.images", PATH, "Folder with container images that the site provides for all users.", "_roles",
          "/enroot"),
    Field("container.uri_note", TEXT, "How to write image addresses.", PEOPLE,
          "Write docker://nvcr.io#nvidia/NAME:TAG, with # after the registry."),
    Field("container.note", TEXT, NOTE, PEOPLE, "The site provides NVIDIA's images in /sw/external/NGC."),
    Field("caches", SECTION, "Where to keep container caches."),
    Field("caches.area", AREA, "Name of the storage area for the caches.", "_accounts", "dss", chosen=True),
    Field("caches.path", PATH, "Folder for the caches in that area.", "_roles", "$SCRATCH/.enroot", chosen=True),
    Field("caches.below", BELOW, "Folder for the caches, relative to the area. Use it instead of caches.path if "
          "hpc-onboard can find the area's path only after the login.", "_accounts", "{user}/enroot", chosen=True),
    Field("caches.off_home", AREA, "Name of the storage area in which, instead of the home, the site wants users to "
          "keep the caches of all tools.", "_audit", "work1"),
    Field("caches.why_not", TEXT, "Reason not to redirect the caches, if the site gives one.", "_roles",
          "The site wants SINGULARITY_CACHEDIR in /tmp/$USER while an image is pulled."),
    Field("conda", SECTION, "Whether users may install their own conda.", example={"policy": "allowed"}),
    Field("conda.policy", one_of("allowed", "discouraged", "refused"), "The site's policy on conda.", "_roles",
          "allowed", required=True),
    Field("conda.usual", BOOL, "True if the site's instructions tell all users to install conda. hpc-onboard then "
          "installs conda, unless an account excludes it.", "_roles"),
    Field("conda.area", AREA, "Name of the storage area for conda.", "_roles", "data", chosen=True),
    Field("conda.below", BELOW, "Folder for conda, relative to the area, if conda is not directly in the area. The "
          "path may contain {user} and {project}.", "_roles", "{user}", chosen=True),
    Field("conda.by_machine", BOOL, "True if the folder is named after the architecture, because machines of several "
          "architectures share the area.", "_roles", chosen=True),
    Field("conda.distribution", one_of("miniconda", "miniforge"), "Distribution that the site recommends.", "_roles",
          chosen=True),
    Field("conda.why", TEXT, "The site's reason for its policy.", PEOPLE, "The home is too small for conda."),
    Field("conda.instead", TEXT, "What to use instead of conda.", PEOPLE, "virtual environments or containers"),
    Field("proxies", SECTION, "Proxies that login nodes need to reach the Internet.", more={"minProperties": 1}),
    Field("proxies.http", PROXY, "Proxy for http addresses.", "_roles", "http://proxy.example.org:3128"),
    Field("proxies.https", PROXY, "Proxy for https addresses.", "_roles", "http://proxy.example.org:3128"),
    Field("proxies.no", HOSTS, "Hosts that are reached without a proxy, separated by commas.", "_roles",
          "localhost,.example.org"),
    Field("compute", SECTION, "Differences between compute nodes and login nodes."),
    Field("compute.internet", one_of("full", "proxy", "none"),
          "Internet access from jobs: full, through a proxy only, or none.", "_readiness"),
    Field("compute.module", MODULE, "Environment module that enables the proxy.", "_roles", "proxy/default"),
    Field("compute.proxy", PROXY, "Address of the proxy for jobs.", "_roles", "http://proxy.example.org:3128"),
    Field("compute.tmp", PATH, "Folder on the node's own disk that a job can use while it runs.", "_roles", "/tmp"),
    Field("compute.nccl", NCCL, "Environment variables that the site recommends for NCCL.", "_roles",
          {"NCCL_NET": "AWS Libfabric"}),
    Field("compute.note", TEXT, NOTE, PEOPLE, "Use $L_SCRATCH_JOB if several of your jobs may share a node."),
    Field("mirrors", SECTION, "A site may have mirrors (copies) of package indexes. Packages contain programs, so "
          "only profiles shipped with hpc-onboard may define mirrors."),
    Field("mirrors.pypi", HTTPS, "Address for pip.", "_roles", "https://pypi.example.org/simple"),
    Field("mirrors.conda", HTTPS, "Address for conda.", "_terminal", "https://mirror.example.org/conda"),
    Field("mirrors.note", TEXT, NOTE, PEOPLE, "Only compute nodes can reach the mirrors."),
    Field("wheels", SECTION, "Python packages built by the site."),
    Field("wheels.search", COMMAND, "Command, without quotes or pipes, that searches for a package. "
          "hpc-onboard prints the command, but never runs it.", "_roles", "avail_wheels"),
    Field("wheels.no_index", BOOL, "True if pip finds these packages with --no-index.", "_roles"),
    Field("wheels.note", TEXT, NOTE, PEOPLE, "The site has wheels for its three newest Python versions only."),
    Field("launchers", LIST, "Scripts on PATH that start a job in a container."),
    Field("launchers[]", SECTION, "One launcher."),
    Field("launchers[].name", SCRIPT, "File name of the script. The name must end in .sh, so that the script does not "
          "hide another program on PATH.", "_roles", "usrun.sh", chosen=True, required=True),
    Field("launchers[].image", PATH, "Container image that the script starts by default.", "_roles",
          "/enroot/nvcr.io_nvidia_pytorch_23.12-py3.sqsh"),
    Field("launchers[].mounts", list_of(MOUNT), "Folders that the container mounts at the same path, as FOLDER:FOLDER "
          "or FOLDER:FOLDER:ro.", "_roles", ["/data:/data", "$HOME:$HOME"]),
    Field("launchers[].minutes", POSITIVE, "Default time limit in minutes.", "_roles", 60, chosen=True),
    Field("launchers[].note", TEXT, NOTE, PEOPLE,
          "The image and the mounts are those of the community's script; hpc-onboard chose the time limit."),
    Field("scheduler", SECTION, "The batch system.", example={"kind": "slurm"}),
    Field("scheduler.kind", one_of("slurm", "pbs", "none"), "Name of the batch system.", "_roles", "slurm",
          required=True),
    Field("scheduler.submit", TEXT, "How to submit a job, if the batch system is not Slurm.", PEOPLE,
          "qsub -A PROJECT job.sh"),
    Field("scheduler.account_required", BOOL, "True if a job must name a Slurm account.", "_roles"),
    Field("scheduler.account", one_of("project"), "project: jobs use the Slurm account of the project.", "_roles"),
    Field("scheduler.accounts_command", SLURM_COMMAND, "Command, without quotes or pipes, that lists the Slurm "
          "accounts that a job may use. hpc-onboard prints the command, but never runs it.", PEOPLE, "accounts"),
    Field("scheduler.partitions", list_of(PARTITION), "Names of the partitions.", "_audit", ["batch"]),
    Field("scheduler.member_partitions", list_of(PARTITION),
          "Names of partitions that only members of a group can use.", "_roles", ["mcml"]),
    Field("scheduler.gpu", OPTIONS, "Options of sbatch that request one GPU.", "_roles", "--gpus=1"),
    Field("scheduler.cpu", OPTIONS, "Submit options of a job without a GPU.", "_roles", "--partition=cpu"),
    Field("scheduler.test", OPTIONS, "Submit options of a small test job.", "_readiness", "--partition=debug",
          label="a test"),
    Field("scheduler.hours", POSITIVE, "Maximum run time of a job in hours, unless a partition or QOS has its own "
          "limit.", "_roles", 24),
    Field("scheduler.partition_hours", mapping(PARTITION, HOURS), "Maximum run time of a job in a partition, in hours, "
          "if different from scheduler.hours.", "_roles", {"normal": 12, "debug": 0.5}),
    Field("scheduler.qos_hours", mapping(PARTITION, HOURS), "Maximum run time of a job in a QOS, in hours.", "_roles",
          {"long": 96}),
    Field("scheduler.partition_required", BOOL, "True if Slurm has no default partition.", "_roles"),
    Field("scheduler.gpu_vendor", one_of("nvidia", "amd"), "Manufacturer of the GPUs.", "_roles", "nvidia"),
    Field("scheduler.gpus_per_node", list_of(COUNT), "Possible numbers of GPUs per node for a job with the GPU type "
          "in scheduler.gpu; [0] if no node has GPUs.", "_roles", [1, 2, 3, 4]),
    Field("scheduler.gpu_nodes", mapping(PARTITION, POSITIVE), "Number of nodes for each GPU type.", "_roles",
          {"a100": 1}),
    Field("scheduler.whole_nodes", BOOL, "True if a job gets whole nodes, and is charged for them.", "_roles"),
    Field("scheduler.cpus_per_gpu", POSITIVE, "Processors per GPU, as recommended by the site.", "_roles", 12),
    Field("scheduler.memory_per_gpu", MEMORY, "Memory per GPU, as recommended by the site.", "_roles", "32000M"),
    Field("scheduler.memory_per_cpu", MEMORY, "Memory per processor for jobs without a GPU.", "_roles", "4000M"),
    Field("scheduler.account_suffixes", SECTION,
          "Suffixes that turn a project's name into the names of its Slurm accounts."),
    Field("scheduler.account_suffixes.cpu", SUFFIX, "Suffix for jobs without a GPU.", "_roles", "_cpu", required=True),
    Field("scheduler.account_suffixes.gpu", SUFFIX, "Suffix for jobs with GPUs.", "_roles", "_gpu", required=True),
    Field("scheduler.qos", mapping(PARTITION, TEXT), "Each QOS, with its limits in one sentence.", PEOPLE,
          {"opp": "At most 50 jobs; other jobs may preempt them."}),
    Field("scheduler.budget", TEXT, "How users see their remaining budget.", PEOPLE,
          "https://portal.example.org shows the node hours of your projects.", label="budget"),
    Field("scheduler.jobs", POSITIVE, "Maximum number of jobs that each user may have at a time.", "_terminal", 10),
    Field("scheduler.notes", list_of(TEXT), "What users should know.", PEOPLE,
          ["Jobs in normal may last 24 hours, in debug 30 minutes. Nodes are not shared."]),
    Field("quota_command", QUOTA_COMMAND, "Read-only command, without quotes or pipes, that shows quotas. Its program "
          "must be a known one (quota, myquota, disk-quota, sh_quota, diskusage_report, csc-workspaces, gladequota, "
          "df, lfs quota, jutil).", "_audit", "quota"),
    Field("transfer", list_of(TEXT), "Ways to copy data in and out, such as transfer nodes or Globus.", PEOPLE,
          ["Globus: the collection Attic."], label="data"),
    Field("support", TEXT, "How to contact the site's support.", PEOPLE, "help@example.org", label="support"),
    Field("policies", list_of(TEXT), "Rules of the site for its users.", PEOPLE,
          ["Do not request specific nodes; such jobs are deleted."]),
    Field("human_steps", LIST, "Manual steps that only the user can do, in order."),
    Field("human_steps[]", SECTION, "One step."),
    Field("human_steps[].id", NAME, "Short name of the step.", ABOUT, "vpn", required=True),
    Field("human_steps[].text", TEXT, "What to do.", ABOUT, "Enrol NCSA's Duo.", required=True),
    Field("human_steps[].url", URL, "Page on which to do the step.", ABOUT, "https://portal.cscs.ch"),
    Field("human_steps[].done", one_of("reached", "key", "link"),
          "How hpc-onboard detects that the step is done. reached: the account was reached. key: the keyring contains "
          "the key. link: the path of the storage area is known. Omit this field if hpc-onboard cannot detect this.",
          ABOUT),
    Field("human_steps[].area", AREA, "If done is link: the storage area whose path this step provides.", ABOUT, "dss"),
    Field("human_steps[].secret", AREA, "If `done` is `key`: the name of the key (default: ngc).", ABOUT, "ngc"),
    Field("human_steps[].every_days", POSITIVE,
          "Days after which the step must be repeated, even if it is marked as done. Only for a step without the field "
          "done.", ABOUT, 365),
    Field("traps", list_of(TEXT), "Pitfalls of the cluster.", PEOPLE, ["The system's python3 is 3.6."]),
    Field("sandbox_environment", ENVIRONMENT, "Environment variables of the site, as set in the sandbox. Values may "
          "contain {user} and {project}, like paths.", "_accounts", {"SCRATCH": "/iopsstor/scratch/cscs/{user}"},
          chosen=True),
)
# fmt: on
BY_NAME = {field.name: field for field in FIELDS}
# Top-level keys whose values need no source.
ABOUT_PROFILE = {"sources", "human_steps"} | {
    field.name for field in FIELDS if field.reader == ABOUT and "." not in field.name
}
SEVERAL_FACTS = {field.key for field in FIELDS if field.form == list_of(TEXT)}  # each item is a fact of its own


def is_relied_on(name: str) -> bool:
    """Return True if a program reads the field, so that its value needs a source. name: such as storage[].bytes."""
    # A key that the table lacks belongs to a mapping: scheduler.partition_hours.normal.
    field = BY_NAME.get(name.removesuffix("[]")) or BY_NAME.get(name.rpartition(".")[0])
    return field is not None and field.reader not in FOR_NO_PROGRAM and not field.chosen
