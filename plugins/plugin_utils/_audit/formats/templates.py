# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The templates of the reports, in the folder page, and the filters for all of them."""

from __future__ import annotations

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from ..._documents.fix import describe_fix
from ..._text.amounts import count
from .shared import SYMBOLS, format_time, list_fields, spell_out

PAGE = Path(__file__).with_name("page")


def template_environment(*, autoescape: bool) -> Environment:
    """Return the environment of the templates. HTML needs autoescape; Markdown is escaped by its own filters."""
    environment = Environment(
        loader=FileSystemLoader(PAGE),
        autoescape=autoescape,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        count=count,
        words=spell_out,
        moment=format_time,
        fields=list_fields,
        describe_fix=describe_fix,
        symbol=lambda state: SYMBOLS[state][0],
    )
    return environment
