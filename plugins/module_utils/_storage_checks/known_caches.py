# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The caches and data of tools by their default folders below the home, as the tools' own documentation names them."""

from typing import NamedTuple, Tuple

NONE = ("",)  # for a folder whose contents no program makes again: containers, unsent data, linked packages


class Cache(NamedTuple):
    """A tool's cache: the default folder below the home, and the variable that moves it."""

    tool: str
    folder: str
    variable: str
    below: str = ""  # the subfolder that the tool makes in the folder that the variable names
    remade: Tuple[str, ...] = ()  # the names in it that the tool makes again; empty: all of them
    holds: str = "the cache of %s holds"
    rule: str = "ENV-001"


CACHES = (
    Cache("apptainer", ".apptainer/cache", "APPTAINER_CACHEDIR", "cache"),
    Cache("apptainer", ".singularity/cache", "SINGULARITY_CACHEDIR", "cache"),
    Cache("enroot", ".cache/enroot", "ENROOT_CACHE_PATH"),
    Cache(
        "enroot",
        ".local/share/enroot",
        "ENROOT_DATA_PATH",
        remade=NONE,
        holds="the containers of %s hold",
        rule="IMG-004",
    ),
    Cache("pip", ".cache/pip", "PIP_CACHE_DIR"),
    Cache("uv", ".cache/uv", "UV_CACHE_DIR"),
    Cache("conda", ".conda/pkgs", "CONDA_PKGS_DIRS", remade=NONE, holds="the packages of %s hold"),
    Cache("Hugging Face", ".cache/huggingface", "HF_HOME", remade=("hub", "datasets", "xet")),
    Cache("torch", ".cache/torch", "TORCH_HOME", remade=("hub", "kernels")),
    Cache("torch", ".cache/torch_extensions", "TORCH_EXTENSIONS_DIR"),
    Cache("wandb", ".cache/wandb", "WANDB_CACHE_DIR"),
    Cache("wandb", ".local/share/wandb", "WANDB_DATA_DIR", remade=NONE, holds="the data of %s holds"),
    Cache("triton", ".triton/cache", "TRITON_CACHE_DIR"),
    Cache("CUDA", ".nv/ComputeCache", "CUDA_CACHE_PATH"),
    Cache("spack", ".spack/cache", "SPACK_USER_CACHE_PATH", "cache"),
    Cache("npm", ".npm", "npm_config_cache", remade=("_cacache", "_npx", "_logs")),
    Cache("yarn", ".cache/yarn", "YARN_CACHE_FOLDER"),
    Cache("pnpm", ".local/share/pnpm", "PNPM_HOME", remade=NONE),
    Cache("pixi", ".cache/rattler", "RATTLER_CACHE_DIR"),
    Cache("poetry", ".cache/pypoetry", "POETRY_CACHE_DIR", remade=("cache", "artifacts")),
    Cache("mamba", ".mamba/pkgs", "CONDA_PKGS_DIRS", remade=NONE, holds="the packages of %s hold"),
    Cache("pip --user", ".local/lib", "PYTHONUSERBASE", "lib", remade=NONE, holds="the packages of %s hold"),
    Cache("virtualenvwrapper", ".virtualenvs", "WORKON_HOME", remade=NONE, holds="the environments of %s hold"),
    Cache("podman", ".local/share/containers", "CONTAINERS_STORAGE", remade=NONE, holds="the images of %s hold"),
    Cache("julia", ".julia", "JULIA_DEPOT_PATH", remade=NONE, holds="the packages of %s hold"),
    Cache("cargo", ".cargo/registry", "CARGO_HOME", "registry", remade=NONE),
    Cache("rustup", ".rustup", "RUSTUP_HOME", remade=NONE, holds="the toolchains of %s hold"),
    Cache("go", "go/pkg", "GOPATH", "pkg", remade=NONE),
    Cache("go", ".cache/go-build", "GOCACHE"),
    Cache("ccache", ".ccache", "CCACHE_DIR"),
    Cache("gradle", ".gradle", "GRADLE_USER_HOME", remade=NONE),
    Cache("maven", ".m2/repository", "MAVEN_REPOSITORY", remade=NONE),
    Cache("nextflow", ".nextflow", "NXF_HOME", remade=NONE, holds="the data of %s holds"),
    Cache("Keras", ".keras", "KERAS_HOME", remade=NONE),
    Cache("NLTK", "nltk_data", "NLTK_DATA", remade=NONE, holds="the data of %s holds"),
    Cache("TensorFlow", "tensorflow_datasets", "TFDS_DATA_DIR", remade=NONE, holds="the data sets of %s hold"),
    Cache("scikit-learn", "scikit_learn_data", "SCIKIT_LEARN_DATA", remade=NONE, holds="the data of %s holds"),
    Cache("Ollama", ".ollama/models", "OLLAMA_MODELS", remade=NONE, holds="the models of %s hold"),
    Cache("VS Code", ".vscode-server", "VSCODE_AGENT_FOLDER", remade=NONE, holds="the data of %s holds"),
    # tools for which hpc-onboard sets no variable: what is small is not reported
    Cache("Cursor", ".cursor-server", "", remade=NONE, holds="the data of %s holds"),
    Cache("mamba", ".local/share/mamba/pkgs", "", remade=NONE, holds="the packages of %s hold"),
    Cache("pipx", ".local/share/pipx", "", remade=NONE, holds="the environments of %s hold"),
    Cache("uv", ".local/share/uv", "", remade=NONE, holds="the Pythons of %s hold"),
    Cache("pyenv", ".pyenv", "", remade=NONE, holds="the Pythons of %s hold"),
    Cache("nvm", ".nvm", "", remade=NONE, holds="the versions of %s hold"),
    Cache("R", "R", "", remade=NONE, holds="the packages of %s hold"),
    Cache("cargo", ".cargo/git", "", remade=NONE),
    Cache("deno", ".deno", "", remade=NONE),
    Cache("bun", ".bun", "", remade=NONE),
    Cache("NuGet", ".nuget/packages", "", remade=NONE, holds="the packages of %s hold"),
    Cache("Conan", ".conan2", "", remade=NONE, holds="the packages of %s hold"),
    Cache("OPAM", ".opam", "", remade=NONE, holds="the packages of %s hold"),
    Cache("Stack", ".stack", "", remade=NONE),
    Cache("Ray", ".ray", "", remade=NONE, holds="the data of %s holds"),
    Cache("CuPy", ".cupy/kernel_cache", ""),
    Cache("TVM", ".tvm", "", remade=NONE),
    Cache("Numba", ".numba_cache", ""),
    Cache("fastai", ".fastai", "", remade=NONE, holds="the data of %s holds"),
    Cache("DGL", ".dgl", "", remade=NONE, holds="the data of %s holds"),
    Cache("EasyOCR", ".EasyOCR", "", remade=NONE, holds="the models of %s hold"),
    Cache("PaddleOCR", ".paddleocr", "", remade=NONE, holds="the models of %s hold"),
    Cache("PaddleX", ".paddlex", "", remade=NONE, holds="the models of %s hold"),
    Cache("InsightFace", ".insightface", "", remade=NONE, holds="the models of %s hold"),
    Cache("rembg", ".u2net", "U2NET_HOME", remade=NONE, holds="the models of %s hold"),
    Cache("LM Studio", ".lmstudio", "", remade=NONE, holds="the models of %s hold"),
    Cache("DeepFace", ".deepface", "", remade=NONE, holds="the models of %s hold"),
    Cache("flair", ".flair", "", remade=NONE, holds="the models of %s hold"),
    Cache("Stanza", "stanza_resources", "", remade=NONE, holds="the models of %s hold"),
    Cache("gensim", "gensim-data", "", remade=NONE, holds="the data of %s holds"),
    Cache("MNE", "mne_data", "", remade=NONE, holds="the data of %s holds"),
    Cache("Ultralytics", ".config/Ultralytics", "", remade=NONE, holds="the data of %s holds"),
    Cache("NGC CLI", "ngc-cli", "", remade=NONE, holds="the program of %s holds"),
    Cache("Trash", ".local/share/Trash", "", remade=NONE, holds="the %s holds"),
)
"""Tools, folders and variables as the tools' own documentation names them."""
