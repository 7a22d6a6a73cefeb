# SPDX-License-Identifier: GPL-3.0-or-later
"""Sphinx's settings for the site; tools/build_site.py lays out the pages, and nothing is fetched from elsewhere."""

from pathlib import Path

from docutils import nodes

project = "hpc.onboard"
author = "The hpc.onboard authors"
copyright = "The hpc.onboard authors, GPL-3.0-or-later"
extensions = ["myst_parser", "sphinx_antsibull_ext"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
myst_heading_anchors = 4
html_theme = "furo"
html_title = "hpc.onboard"
html_static_path = [str(Path(__file__).parent / "static")]
html_css_files = ["site.css"]
html_copy_source = False
html_use_index = False
html_show_sphinx = False
pygments_style = "default"
pygments_dark_style = "github-dark"
suppress_warnings = ["misc.highlighting_failure", "toc.empty_glob"]

ANSIBLE = "https://docs.ansible.com/projects/ansible/latest"
LABELS = {  # of Ansible's own pages, in those of antsibull-docs
    "action_plugins": "plugins/action.html",
    "callback_plugins": "plugins/callback.html",
    "common_return_values": "reference_appendices/common_return_values.html",
    "ansible_configuration_settings": "reference_appendices/config.html",
    "ansible_collections.ansible.builtin.default_callback": "collections/ansible/builtin/default_callback.html",
}


def link_to_ansible(_app, _environment, node, content):
    """Return the link to a page of Ansible's, or None."""
    page = LABELS.get(node["reftarget"])
    return nodes.reference("", "", content, internal=False, refuri=f"{ANSIBLE}/{page}") if page else None


def setup(app):
    """Let Sphinx ask for what it does not find here."""
    app.connect("missing-reference", link_to_ansible)
