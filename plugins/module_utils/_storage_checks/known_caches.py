# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The caches and data of known tools: default folders below the home directory, and variables that change them."""

from typing import NamedTuple, Tuple

NOTHING = ("",)  # value of remade: no program recreates the content


class Cache(NamedTuple):
    """A cache of a tool, or other data that the tool stores in the home directory."""

    tool: str
    folder: str  # the default folder, below the home directory
    variable: str  # the environment variable that names a different folder; "" if the tool has none
    below: str = ""  # the subfolder of the variable's folder that the tool uses
    remade: Tuple[str, ...] = ()  # the names in the folder that the tool recreates; empty: all
    content: str = "cache"  # what the folder contains, for messages
    rule: str = "ENV-001"  # the rule that a finding breaks


OTHER_DATA = (  # tool -> the folder of its data, which no variable changes
    *(("ModelScope", ".modelscope"), ("Transformers", ".transformers"), ("Llama", ".llama"), ("wandb", ".wandb")),
    *(("pixi", ".pixi/envs"), ("DVC", ".dvc"), ("Dask", ".dask"), ("Jupyter", ".local/share/jupyter")),
    *(("sbt", ".sbt"), ("Ivy", ".ivy2"), ("Coursier", ".cache/coursier"), ("SDKMAN", ".sdkman"), ("Elan", ".elan")),
    *(("CPAN", ".cpan"), ("Cabal", ".cabal"), ("GHCup", ".ghcup"), ("RubyGems", ".gem"), ("Bundler", ".bundle")),
    *(("rbenv", ".rbenv"), ("asdf", ".asdf"), ("mise", ".local/share/mise"), ("pipenv", ".local/share/virtualenvs")),
    *(
        ("Conan", ".conan"),
        ("vcpkg", ".vcpkg"),
        ("Docker", ".docker"),
        ("Minikube", ".minikube"),
        ("R", ".local/share/R"),
    ),
    *(("MATLAB", ".matlab"), ("Mozilla", ".mozilla"), ("Chrome", ".config/google-chrome"), ("Wine", ".wine")),
    *(("VS Code", ".config/Code"), ("VS Code", ".vscode"), ("Cursor", ".config/Cursor"), ("Cursor", ".cursor")),
    *(
        ("Neovim", ".local/share/nvim"),
        ("Flatpak", ".local/share/flatpak"),
        ("Eclipse", ".eclipse"),
        ("Theano", ".theano"),
    ),
)
CACHES = (
    Cache("apptainer", ".apptainer/cache", "APPTAINER_CACHEDIR", "cache"),
    Cache("apptainer", ".singularity/cache", "SINGULARITY_CACHEDIR", "cache"),
    Cache("enroot", ".cache/enroot", "ENROOT_CACHE_PATH"),
    Cache(
        "enroot",
        ".local/share/enroot",
        "ENROOT_DATA_PATH",
        remade=NOTHING,
        content="containers",
        rule="IMG-004",
    ),
    Cache("pip", ".cache/pip", "PIP_CACHE_DIR"),
    Cache("uv", ".cache/uv", "UV_CACHE_DIR"),
    Cache("conda", ".conda/pkgs", "CONDA_PKGS_DIRS", remade=NOTHING, content="packages"),
    Cache("Hugging Face", ".cache/huggingface", "HF_HOME", remade=("hub", "datasets", "xet")),
    Cache("torch", ".cache/torch", "TORCH_HOME", remade=("hub", "kernels")),
    Cache("torch", ".cache/torch_extensions", "TORCH_EXTENSIONS_DIR"),
    Cache("wandb", ".cache/wandb", "WANDB_CACHE_DIR"),
    Cache("wandb", ".local/share/wandb", "WANDB_DATA_DIR", remade=NOTHING, content="data"),
    Cache("triton", ".triton/cache", "TRITON_CACHE_DIR"),
    Cache("CUDA", ".nv/ComputeCache", "CUDA_CACHE_PATH"),
    Cache("spack", ".spack/cache", "SPACK_USER_CACHE_PATH", "cache"),
    Cache("npm", ".npm", "npm_config_cache", remade=("_cacache", "_npx", "_logs")),
    Cache("yarn", ".cache/yarn", "YARN_CACHE_FOLDER"),
    Cache("pnpm", ".local/share/pnpm", "PNPM_HOME", remade=NOTHING),
    Cache("pixi", ".cache/rattler", "RATTLER_CACHE_DIR"),
    Cache("poetry", ".cache/pypoetry", "POETRY_CACHE_DIR", remade=("cache", "artifacts")),
    Cache("mamba", ".mamba/pkgs", "CONDA_PKGS_DIRS", remade=NOTHING, content="packages"),
    Cache("pip --user", ".local/lib", "PYTHONUSERBASE", "lib", remade=NOTHING, content="packages"),
    Cache("virtualenvwrapper", ".virtualenvs", "WORKON_HOME", remade=NOTHING, content="environments"),
    Cache("podman", ".local/share/containers", "CONTAINERS_STORAGE", remade=NOTHING, content="images"),
    Cache("julia", ".julia", "JULIA_DEPOT_PATH", remade=NOTHING, content="packages"),
    Cache("cargo", ".cargo/registry", "CARGO_HOME", "registry", remade=NOTHING),
    Cache("rustup", ".rustup", "RUSTUP_HOME", remade=NOTHING, content="toolchains"),
    Cache("go", "go/pkg", "GOPATH", "pkg", remade=NOTHING),
    Cache("go", ".cache/go-build", "GOCACHE"),
    Cache("ccache", ".ccache", "CCACHE_DIR"),
    Cache("gradle", ".gradle", "GRADLE_USER_HOME", remade=NOTHING),
    Cache("maven", ".m2/repository", "MAVEN_REPOSITORY", remade=NOTHING),
    Cache("nextflow", ".nextflow", "NXF_HOME", remade=NOTHING, content="data"),
    Cache("Keras", ".keras", "KERAS_HOME", remade=NOTHING),
    Cache("NLTK", "nltk_data", "NLTK_DATA", remade=NOTHING, content="data"),
    Cache("TensorFlow", "tensorflow_datasets", "TFDS_DATA_DIR", remade=NOTHING, content="data sets"),
    Cache("scikit-learn", "scikit_learn_data", "SCIKIT_LEARN_DATA", remade=NOTHING, content="data"),
    Cache("Ollama", ".ollama/models", "OLLAMA_MODELS", remade=NOTHING, content="models"),
    Cache("VS Code", ".vscode-server", "VSCODE_AGENT_FOLDER", remade=NOTHING, content="data"),
    Cache("vLLM", ".cache/vllm", "VLLM_CACHE_ROOT"),
    Cache("ModelScope", ".cache/modelscope", "MODELSCOPE_CACHE"),
    Cache("Kaggle", ".cache/kagglehub", "KAGGLEHUB_CACHE"),
    Cache("pre-commit", ".cache/pre-commit", "PRE_COMMIT_HOME"),
    Cache("Playwright", ".cache/ms-playwright", "PLAYWRIGHT_BROWSERS_PATH"),
    Cache("ccache", ".cache/ccache", "CCACHE_DIR"),
    Cache("R", ".cache/R", "R_USER_CACHE_DIR", "R"),
    Cache("deno", ".cache/deno", "DENO_DIR"),
    Cache("yarn", ".yarn/berry/cache", "YARN_GLOBAL_FOLDER", "cache"),
    Cache("bun", ".bun/install/cache", "BUN_INSTALL_CACHE_DIR"),
    Cache("udocker", ".udocker", "UDOCKER_DIR", remade=NOTHING, content="images"),
    Cache("mamba", "micromamba/pkgs", "MAMBA_ROOT_PREFIX", "pkgs", remade=NOTHING, content="packages"),
    # without a variable: small ones are not reported
    *(
        Cache("conda", folder + "/pkgs", "", remade=NOTHING, content="packages")
        for folder in ("miniconda3", "anaconda3", "miniforge3", "mambaforge", "miniconda", "anaconda", "conda")
    ),
    Cache("code-server", ".local/share/code-server", "", remade=NOTHING, content="data"),
    Cache("Cursor", ".cursor-server", "", remade=NOTHING, content="data"),
    Cache("mamba", ".local/share/mamba/pkgs", "", remade=NOTHING, content="packages"),
    Cache("pipx", ".local/share/pipx", "", remade=NOTHING, content="environments"),
    Cache("uv", ".local/share/uv", "", remade=NOTHING, content="Python versions"),
    Cache("pyenv", ".pyenv", "", remade=NOTHING, content="Python versions"),
    Cache("nvm", ".nvm", "", remade=NOTHING, content="versions"),
    Cache("R", "R", "", remade=NOTHING, content="packages"),
    Cache("cargo", ".cargo/git", "", remade=NOTHING),
    Cache("deno", ".deno", "", remade=NOTHING),
    Cache("bun", ".bun", "", remade=NOTHING),
    Cache("NuGet", ".nuget/packages", "", remade=NOTHING, content="packages"),
    Cache("Conan", ".conan2", "", remade=NOTHING, content="packages"),
    Cache("OPAM", ".opam", "", remade=NOTHING, content="packages"),
    Cache("Stack", ".stack", "", remade=NOTHING),
    Cache("Ray", ".ray", "", remade=NOTHING, content="data"),
    Cache("CuPy", ".cupy/kernel_cache", ""),
    Cache("TVM", ".tvm", "", remade=NOTHING),
    Cache("Numba", ".numba_cache", ""),
    Cache("fastai", ".fastai", "", remade=NOTHING, content="data"),
    Cache("DGL", ".dgl", "", remade=NOTHING, content="data"),
    Cache("EasyOCR", ".EasyOCR", "", remade=NOTHING, content="models"),
    Cache("PaddleOCR", ".paddleocr", "", remade=NOTHING, content="models"),
    Cache("PaddleX", ".paddlex", "", remade=NOTHING, content="models"),
    Cache("InsightFace", ".insightface", "", remade=NOTHING, content="models"),
    Cache("rembg", ".u2net", "U2NET_HOME", remade=NOTHING, content="models"),
    Cache("LM Studio", ".lmstudio", "", remade=NOTHING, content="models"),
    Cache("DeepFace", ".deepface", "", remade=NOTHING, content="models"),
    Cache("flair", ".flair", "", remade=NOTHING, content="models"),
    Cache("Stanza", "stanza_resources", "", remade=NOTHING, content="models"),
    Cache("gensim", "gensim-data", "", remade=NOTHING, content="data"),
    Cache("MNE", "mne_data", "", remade=NOTHING, content="data"),
    Cache("Ultralytics", ".config/Ultralytics", "", remade=NOTHING, content="data"),
    Cache("NGC CLI", "ngc-cli", "", remade=NOTHING, content="program"),
    *(Cache(tool, folder, "", remade=NOTHING, content="data") for tool, folder in OTHER_DATA),
    Cache("Trash", ".local/share/Trash", "", remade=NOTHING, content="folder"),
)
"""From the documentation of the tools."""
