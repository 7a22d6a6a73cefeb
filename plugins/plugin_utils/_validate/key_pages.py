# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a person makes and deactivates keys, by service."""

from __future__ import annotations

from ...module_utils._formats.key_forms import HUGGING_FACE, NGC, WANDB

KEY_PAGES = {
    NGC: "https://org.ngc.nvidia.com/setup/api-keys",
    WANDB: "https://wandb.ai/authorize",
    HUGGING_FACE: "https://huggingface.co/settings/tokens",
}
