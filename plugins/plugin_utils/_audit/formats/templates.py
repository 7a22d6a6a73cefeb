# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The templates of the reports, below page, and the filters that all of them have."""

from __future__ import annotations

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from ..._documents.fix import describe_fix
from ..._text.amounts import count
from .shared import SYMBOLS, fields, moment, words

PAGE = Path(__file__).with_name("page")


def template_environment(*, autoescape: bool) -> Environment:
    """Return the environment of the templates. HTML needs autoescape; Markdown has filters of its own."""
    environment = Environment(
        loader=FileSystemLoader(PAGE),
        autoescape=autoescape,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        count=count,
        words=words,
        moment=moment,
        fields=fields,
        describe_fix=describe_fix,
        symbol=lambda state: SYMBOLS[state][0],
    )
    return environment
