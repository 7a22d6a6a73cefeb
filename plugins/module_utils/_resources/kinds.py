# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every kind of resource, and the module of this folder that holds it; the one list of them."""

MODULES = {
    "directory": "Directory",
    "enroot_credential": "EnrootCredential",
    "path_script": "PathScript",
    "shell_environment": "ShellEnvironment",
    "storage_link": "StorageLink",
}
