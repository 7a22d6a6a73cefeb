"""The settings of the roles that keep conda, Python environments and container images.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

from tools.role_pages import FROM_ACCOUNTS, FROM_PROFILE, Role, Setting, item, like, state
from tools.role_settings.files import FILES_FROM
from tools.role_settings.jobs import LIMITS

SITE = [
    Setting(
        "policy",
        "allowed",
        "The site's rule for a conda of your own. If it is refused, nothing is set up.",
        choices=("allowed", "discouraged", "refused"),
    ),
    Setting("why", "", "The site's reason, in a sentence."),
    Setting("instead", "", "What the site recommends instead."),
    Setting(
        "storage",
        [],
        "The storage areas of the site, each with its C(name), C(path) and, if it is created, C(root).",
        elements="dict",
    ),
    Setting("area", "", "The name of the area for it."),
    Setting("below", "", "The folder of the area to install into, if it is not the area itself."),
    Setting(
        "by_machine",
        False,
        "Whether the folder name includes the architecture, because machines of several share the area.",
    ),
]

ROLES = [
    Role(
        "conda",
        "Keep a conda of your own in the data area",
        "Miniforge or Miniconda in the data area (checksum verified), with environments from your files",
        [
            "Installs Miniforge or Miniconda from a pinned installer into a storage area, never into the home, keeps"
            " its settings and the environments that files describe, and provides the command C(conda) in every shell.",
            "The installation takes minutes. It continues on its own on the account if the connection drops.",
        ],
        [
            Setting(
                "wanted",
                False,
                "Whether conda is set up. Other settings of this role in the accounts file imply it.",
                set_by=FROM_PROFILE,
            ),
            Setting(
                "site",
                {},
                "Facts about the site: its policy, storage areas, and the place for conda. To choose the place"
                " yourself, set conda_prefix.",
                items=SITE,
                set_by=FROM_PROFILE,
            ),
            Setting("despite_advice", False, "Your confirmation that you want conda although the site discourages it."),
            like("conda_install", "distribution", "miniforge", set_by=FROM_PROFILE),
            Setting("version", "", "The installer's version. Empty is the pinned one."),
            Setting(
                "anaconda_terms",
                "",
                "Your confirmation that you have accepted Anaconda's terms of service. Miniconda is not installed"
                " without it, because nothing is accepted for you.",
                choices=("", "accepted"),
            ),
            Setting(
                "installers",
                {},
                "Installers of your own choice, such as a mirror's, by architecture, each an address C(url) and a"
                " C(sha256). They replace the pinned ones. Redirects are followed on the same host, and over https to"
                " public hosts.",
            ),
            Setting(
                "prefix",
                "",
                "The folder to install into. Empty is one in the site's area, named for the distribution.",
            ),
            like("conda_install", "channels"),
            Setting(
                "environments",
                [],
                "Environments to keep, such as C({file: environment.yml}).",
                items=[
                    item(
                        "name", "The environment's name. Defaults to C(name) in the environment.yml, else the file's."
                    ),
                    item("file", "The file on this machine: an environment.yml or an explicit lock.", required=True),
                ],
            ),
            FILES_FROM,
            like("conda_install", "proxies", set_by=FROM_PROFILE),
            state("Whether it exists. C(absent) removes what hpc-onboard installed, with its environments."),
        ],
    ),
    Role(
        "python_envs",
        "Keep Python environments with a lock",
        "Python environments with a lock file, from the site's modules and wheels, or with uv or venv",
        [
            "Creates Python environments from the site's modules and wheels, or by uv or venv from an index, and keeps"
            " the list of what was installed next to each. If modules or packages change, a new environment is created"
            " next to the old one and then replaces it.",
            "The work takes minutes. It continues on its own on the account if the connection drops.",
        ],
        [
            Setting(
                "environments",
                [],
                "Environments to keep, such as C({name: ml, modules: [python/3.11], packages: [numpy]}).",
                items=[
                    item("name", "The environment's name, and that of its folder.", required=True),
                    item("path", "Its place, if not in the usual folder."),
                    item("modules", "The environment modules to load, in this order.", "list", elements="str"),
                    like("python_env", "python"),
                    like("python_env", "packages"),
                    item("requirements", "A requirements file on this machine, one package per line."),
                ],
            ),
            like(
                "python_env",
                "modules",
                sentence="The environment modules to load for environments that name none, in this order.",
            ),
            Setting("folder", "~/envs", "The folder for the environments.", set_by=FROM_PROFILE),
            Setting("root", "~", "The folder above it that must exist.", set_by=FROM_PROFILE),
            like("python_env", "maker", set_by=FROM_PROFILE),
            like(
                "python_env",
                "offline",
                sentence="Whether packages come only from the site's own wheels (pip's C(--no-index)).",
                set_by=FROM_PROFILE,
            ),
            like("python_env", "wheels"),
            like("python_env", "index", set_by=FROM_PROFILE),
            like("python_env", "search", set_by=FROM_PROFILE),
            like("python_env", "in_job", set_by=FROM_PROFILE),
            like("python_env", "proxies", set_by=FROM_PROFILE),
            FILES_FROM,
            state("Whether they exist. C(absent) removes those that hpc-onboard created and that were not changed."),
        ],
    ),
    Role(
        "container_images",
        "Keep container images in the data area",
        "container images in the data area, pinned by digest; a job imports them if only compute nodes have enroot",
        [
            "Imports container images into a folder of the data area, one file for each digest, and keeps a link to it"
            " under a name without the digest. C(usrun.sh --image=NAME) finds it by its name.",
            "The work takes minutes. It continues on its own, on the login node or as a Slurm job, if the connection"
            " drops.",
            "If the site has the image itself, that one is used.",
        ],
        [
            Setting(
                "images",
                [],
                "The images to keep, such as C({image: 'nvcr.io/nvidia/pytorch:24.03-py3'}).",
                items=[
                    like("container_image", "image", required=True),
                    item(
                        "packages",
                        "Packages that an image of the site must have in its list to be used instead.",
                        "list",
                        elements="str",
                    ),
                ],
            ),
            like(
                "container_image",
                "old",
                sentence="Whether images that a tag stood for before are kept or removed. They are reported anyway.",
            ),
            Setting("folder", "", "The folder for the images. If empty, none is imported.", set_by=FROM_PROFILE),
            Setting("root", "", "The folder above it that must exist.", set_by=FROM_PROFILE),
            Setting(
                "runtime",
                "none",
                "The program that imports them. Only C(enroot) and C(apptainer) can.",
                choices=("enroot", "apptainer", "singularity", "sarus", "podman", "none"),
                set_by=FROM_PROFILE,
            ),
            like("container_image", "module", set_by=FROM_PROFILE),
            like("container_image", "credentials", set_by=FROM_PROFILE),
            like(
                "container_image",
                "by",
                sentence="Whether they are imported on the login node, or on a compute node by a job.",
                set_by=FROM_PROFILE,
            ),
            Setting("scheduler", "slurm", "The batch system.", set_by=FROM_PROFILE),
            Setting("job_options", "", "Options of sbatch for the job.", set_by=FROM_PROFILE),
            Setting("site", "this cluster", "The name of the cluster.", set_by=FROM_PROFILE),
            LIMITS,
            Setting("account", "", "The Slurm account of the job.", set_by=FROM_ACCOUNTS),
            like("container_image", "minutes", sentence="The time limit of the job, in minutes."),
            like(
                "container_image",
                "temporary",
                sentence="The folder for temporary files. Empty is one next to the images.",
            ),
            Setting("site_images", "", "The folder with the site's own images.", set_by=FROM_PROFILE),
            Setting("edf", "", "The folder for EDF files, by which jobs name images at CSCS.", set_by=FROM_PROFILE),
            Setting(
                "mounts",
                [],
                "The folders that containers see, each SOURCE:TARGET, for EDF files.",
                elements="str",
                set_by=FROM_PROFILE,
            ),
            state("Whether they exist. C(absent) removes those that hpc-onboard imported."),
        ],
    ),
]
