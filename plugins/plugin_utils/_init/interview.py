# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The questions of init about the settings of an account.

The traces of an account are what the user's ssh files contain about the account, such as its user name.
"""

from __future__ import annotations

from . import person
from .desired_account import AccountQuestion, DesiredAccount, describe_fault, list_questions


def ask_questions(account: DesiredAccount, local_user: str, only_required: bool) -> None:
    """Ask for the values that the account's entry lacks, and put the answers into the entry.

    local_user: the user's name on this machine. only_required: omit the questions that the user may skip.
    """
    all_questions = list_questions(account, local_user)
    questions = [question for question in all_questions if question.is_required or not only_required]
    if questions:
        print()
        person.print_paragraph(f"{account.name}: {account.profile.get('name', account.cluster)}")
    for question in questions:
        account.set_value(question.setting, _ask(question, account))
    jump = account.profile.get("login", {}).get("jump") or {}
    if account.entry.get("jump_user") == jump.get("user", account.user):
        del account.entry["jump_user"]  # a run uses this name by default


def _ask(question: AccountQuestion, account: DesiredAccount) -> str:
    """Ask a question about an account until the answer is valid, and return it; empty for a skipped question."""
    default = question.default
    if question.setting == "jump_user" and not account.traces.jump_user:
        default = account.user  # the user may have entered this name after the questions were listed

    def find_answer_fault(answer: str) -> str:  # empty if the answer is valid
        if not answer:
            return "A value is required." if question.is_required else ""
        return describe_fault(question.setting, answer)

    skip = "" if question.is_required or default else " Press Enter to skip."
    return person.prompt(f"{question.text.removesuffix('.')}.{skip}", default, find_fault=find_answer_fault)
