# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role storage_links: links from the home to storage areas, and the user's own folders in these areas.

A declaration has resources, and notes with the reasons for skipped ones: a code for programs, and a text for the user.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .table import SET_PATH, Settings, declare_nothing, resource

if TYPE_CHECKING:
    from .._documents.declaration import Declaration


def declare(settings: Settings) -> Declaration:
    """Declare the folders and links.

    settings: areas, dictionaries with name; path, if it is known; ask, how to find the path; root, the site's folder
    above the path; create, to create the path; link, the name of the link. by: who creates the links, 'us' or 'site'.
    why: the reason for 'site'. state. own {link: folder}: the user's links, which replace area links of the same name.
    """
    own_links, state = settings["own"], settings["state"]
    areas = [_remove_link(area, own_links) for area in settings["areas"]]
    declaration = _declare_areas({**settings, "areas": areas})
    links = [resource("storage_link", path=path, target=target, state=state) for path, target in own_links.items()]
    return {**declaration, "resources": [*declaration["resources"], *links]}


def _remove_link(area: Settings, own_links: Settings) -> Settings:
    """Return the area, without its link if the user's own links include a link of the same name."""
    return {name: value for name, value in area.items() if name != "link" or f"~/{value}" not in own_links}


def _declare_areas(settings: Settings) -> Declaration:
    """Declare the folders and links of the site's storage areas."""
    if settings["by"] == "site":
        why = f": {settings['why']}" if settings.get("why") else ""
        return declare_nothing("made_by_site", f"the site creates these links itself{why}")
    declaration: Declaration = {"resources": [], "notes": []}
    for area in settings["areas"]:
        if not area.get("path"):
            if area.get("link"):
                text = f"the path of {area['name']} is unknown. {area.get('ask', SET_PATH)}"
                declaration["notes"].append({"code": "path_unknown", "area": area["name"], "text": text})
            continue
        if area.get("create") and settings["state"] == "present":
            declaration["resources"].append(
                resource("directory", path=area["path"], root=area.get("root"), mode=area.get("mode"))
            )
        if area.get("link"):
            declaration["resources"].append(
                resource("storage_link", path=f"~/{area['link']}", target=area["path"], state=settings["state"])
            )
    return declaration
