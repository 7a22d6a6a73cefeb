# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The parts of job scripts that depend on the site: options, modules, environment, container."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from ...module_utils._core.errors import AccountError
from ...module_utils._options import image_name
from .job_request import gpu_flag
from .table import Settings

IMPORTS = {
    "enroot": [
        "# enroot needs # after the registry. Without a registry, the image is from Docker Hub",
        "[[ ! $image =~ ^([^/]*[.:][^/]*|localhost)/ ]] || image=${image/\\//#}",
        'enroot import --output "$folder/$name.sqsh" "docker://$image"',
        'echo "imported $folder/$name.sqsh"',
    ],
    **{
        tool: [
            f'{tool} pull --disable-cache "$folder/$name.sif" "docker://$image"',
            'echo "imported $folder/$name.sif"',
        ]
        for tool in ("apptainer", "singularity")
    },
}
DEFINITION = (
    'printf "Bootstrap: localimage\\nFrom: %s\\n%%%%post\\n%s\\n" "$base" "$(cat "$commands")" >"$temporary/new.def"'
)
BUILDS = {
    "enroot": [
        'export ENROOT_DATA_PATH="$temporary/data" ENROOT_RUNTIME_PATH="$temporary/run" NVIDIA_VISIBLE_DEVICES=void',
        'enroot create --name new "$base"',
        'enroot start --root --rw new sh -ec "$(cat "$commands")"',
        'enroot export --output "$new.part-$SLURM_JOB_ID" new',
    ],
    "apptainer": [DEFINITION, 'apptainer build "$new.part-$SLURM_JOB_ID" "$temporary/new.def"'],
    "singularity": [DEFINITION, 'singularity build --fakeroot "$new.part-$SLURM_JOB_ID" "$temporary/new.def"'],
}
ENDINGS = {"pyxis": "sqsh", "apptainer": "sif", "singularity": "sif"}  # of image files
PURPOSES = {
    "--partition": "The partition, Slurm's word for a queue",
    "--qos": "The quality of service: limits and priority",
    "--account": "The Slurm account that the job is charged to",
    "--nodes": "The number of nodes",
    "--ntasks-per-node": "The number of processes that srun starts on each node",
    "--gpus": "The number of GPUs",
    "--gpus-per-node": "The number of GPUs on each node",
    "--gres": "The GPUs on each node",
    "--cpus-per-task": "The number of processors for each process, for example for its data-loading workers",
    "--mem": "The memory on each node",
    "--mem-per-cpu": "The memory for each processor",
    "--time": "The time limit, in minutes or as days-hours:minutes",
}
LENIENT = "set +eu  # the site's scripts may read unset variables"
STRICT = "set -eu"


def check_readable_in_jobs(settings: Settings) -> None:
    """Raise AccountError if the image or the environment is in a home directory that jobs cannot read."""
    for name in ("image", "environment"):
        if settings["home_in_jobs"] and settings[name].startswith("~"):
            raise AccountError(
                f"job_scripts: {name}: jobs at {settings['site']} cannot read {settings[name]!r}, which is in the home"
                f" directory. Write a path without links in the home directory, such as {settings['home_in_jobs']}/NAME"
            )


def requested_lines(options: Sequence[str]) -> list[str]:
    """Return options as lines for sbatch."""
    return [f"#SBATCH {option}" for option in options]


def options_with_purposes(options: Sequence[str]) -> list[str]:
    """Return options as lines for sbatch, each below a comment that explains the option."""
    lines = []
    for option in options:
        purpose = PURPOSES.get(option.partition("=")[0])
        lines += [f"# {purpose}:"] if purpose else []
        lines.append(f"#SBATCH {option}")
    return lines


def shape_lines(settings: Settings) -> list[str]:
    """Return comments about the script's shape: the site charges for whole nodes; the user could use a container."""
    whole_nodes = (
        f"# At {settings['site']}, a job gets whole nodes and is charged for all of their GPUs and processors."
    )
    no_container = "# This script runs without a container. To use one, set job_scripts: {image: IMAGE}."
    has_image = settings["image"] not in ("", "none")
    return [
        *([whole_nodes] if settings["limits"].get("whole_nodes") else []),
        *([no_container] if settings["runtime"] != "none" and not has_image else []),
    ]


def load_lines(settings: Settings) -> list[str]:
    """Return the lines that load modules and set the proxy. The script ends if a module is missing."""
    uses_module = settings["image"] not in ("", "none") and settings["runtime"] in ("apptainer", "singularity")
    return [
        *_module_lines([settings["proxy_module"], *settings["modules"]]),
        *(_tool_lines(settings["runtime"], settings["module"]) if uses_module else []),
        *_proxy_lines(settings["proxy"]),
    ]


def _module_lines(names: Sequence[str]) -> list[str]:
    """Return the lines that load these modules, without empty names. The script ends if a module is missing."""
    missing = '{ echo "${SLURM_JOB_NAME:-$0}: the module %s cannot be loaded" >&2; exit 1; }'
    loads = [f"module load {shlex.quote(name)} || {missing % name}" for name in names if name]
    define_module = "command -v module >/dev/null || . /etc/profile  # missing after sbatch --export=NONE"
    return [LENIENT, define_module, *loads, STRICT] if loads else []


def _tool_lines(tool: str, module: str) -> list[str]:
    """Return the lines that load the module of a container tool if the tool is not available yet."""
    loads = _module_lines([module])
    return [f"if ! command -v {tool} >/dev/null; then", *(f"    {line}" for line in loads), "fi"] if loads else []


def _proxy_lines(proxy: str) -> list[str]:
    """Return the line that sets the proxy; no line for an empty address."""
    quoted = shlex.quote(proxy)
    return [f"export http_proxy={quoted} https_proxy={quoted}"] if proxy else []


def environment_lines(environment: str) -> list[str]:
    """Return the lines that activate a Python environment. The script ends if the environment is missing.

    An environment of the role python_envs has a file "activate", which also loads modules; others are of venv or conda.
    """
    if not environment:
        return []
    return [
        f"environment={quote_path(environment)}",
        LENIENT,
        'if [ -r "$environment/activate" ]; then',
        '    . "$environment/activate"',
        'elif [ -r "$environment/bin/activate" ]; then',
        '    . "$environment/bin/activate"',
        'elif [ -d "$environment/conda-meta" ]; then',
        '    export CONDA_PREFIX="$environment" PATH="$environment/bin:$PATH"',
        "else",
        '    echo "${SLURM_JOB_NAME:-$0}: $environment is not a Python environment that this job can read" >&2',
        "    exit 1",
        "fi",
        STRICT,
    ]


def container_lines(settings: Settings, gpus: int, *folders: str) -> list[str]:
    """Return the lines that set `image`, end the script if its file is missing, and set the array `container`.

    container: the words before a command that run the command in the image. gpus: 0 for a script without GPUs.
    folders: to mount in addition to the site's.
    """
    image, runtime = settings["image"], settings["runtime"]
    if image in ("", "none"):
        return []
    is_path = image[0] in "/.~$"
    is_in_registry = "/" in image and not is_path and "docker://" not in image
    # the role container_images may have created a file of this name from the registry's image
    name = image_name.parse(image) if is_in_registry else None
    file = image if is_path else ""
    if name and runtime == "environment":
        file = f"~/.edf/{name.plain}.toml"
    elif name and settings["images"] and "#" not in image:  # "#": the user wants pyxis to pull the image
        file = f"{settings['images']}/{name.plain}.{ENDINGS[runtime]}"
    check = '[ -e "$image" ] || { echo "${SLURM_JOB_NAME:-$0}: the image $image is missing" >&2; exit 1; }'
    image_lines = [f"image={quote_path(file)}", check] if file else [f"image={shlex.quote(image)}"]
    return [*image_lines, f"container=({' '.join(_container_words(settings, gpus, folders))})"]


def _container_words(settings: Settings, gpus: int, folders: Sequence[str]) -> list[str]:
    """Return the words between srun and the command, quoted for bash."""
    runtime, folder_mounts = settings["runtime"], [f"{folder}:{folder}" for folder in folders]
    # inside quotes, a shell expands $HOME, but not ~
    site_mounts = [re.sub(r"(^|:)~(?=[/:]|\Z)", r"\1$HOME", mount) for mount in settings["mounts"]]
    if runtime == "pyxis":
        mounts = ",".join([*site_mounts, "$PWD:$PWD", *folder_mounts])
        return ['--container-image="$image"', f'--container-mounts="{mounts}"', '--container-workdir="$PWD"']
    if runtime == "environment":
        return ['--environment="$image"']  # the EDF file names the mounts
    mounts = ",".join([*site_mounts, *folder_mounts])
    return [  # Apptainer or Singularity
        f"{runtime} exec",
        *([gpu_flag(settings)] if gpus else []),
        *([f'--home="{settings["home_in_jobs"]}"'] if settings["home_in_jobs"] else []),
        *([f'--bind="{mounts}"'] if mounts else []),
        '--pwd="$PWD" "$image"',
    ]


def import_lines(settings: Settings) -> list[str]:
    """Return the lines that import $image into $folder; no lines if the site has no program that can do this."""
    return _image_lines(settings, IMPORTS.get(settings["importer"], []))


def build_lines(settings: Settings) -> list[str]:
    """Return the lines that run $commands in a container of $base and write $new.part-JOB.

    Return no lines if the site has no program that can do this.
    """
    return _image_lines(settings, BUILDS.get(settings["importer"], []))


def _image_lines(settings: Settings, lines: list[str]) -> list[str]:
    """Return the lines that create an image, after the lines that load the container tool and set the proxy."""
    if settings["importer"] not in IMPORTS:
        return []
    return [
        *_module_lines([settings["proxy_module"]]),
        *_tool_lines(settings["importer"], settings["module"]),
        *_proxy_lines(settings["proxy"]),
        *lines,
    ]


def quote_path(path: str) -> str:
    """Return a path for a shell, which still expands ~ and variables. path: only characters of launchers.PLAIN.

    ~ is not replaced by $HOME, because a job may run without HOME.
    """
    return path if path.startswith("~") else f'"{path}"'
