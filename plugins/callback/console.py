# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The stdout callback of hpc-onboard: the result of each account. The texts are in plugin_utils/_terminal."""

from __future__ import annotations

DOCUMENTATION = r"""
name: console
type: stdout
short_description: The result of each account, in words
version_added: 0.1.0
author: The hpc.onboard authors (@hpc-onboard)
description:
  - Shows for each account which resources M(hpc.onboard.converge) created, changed or skipped, which failed, and why.
  - Shows all other tasks, and with C(-vv) every task, in the format of P(ansible.builtin.default#callback).
extends_documentation_fragment:
  - default_callback
  - result_format_callback
requirements:
  - set as stdout in the configuration
"""

import os
import sys
import threading
from typing import Any

from ansible import constants, context
from ansible.plugins.callback.default import CallbackModule as Default
from ansible.utils import color
from ansible_collections.hpc.onboard.plugins.plugin_utils._input import verdict
from ansible_collections.hpc.onboard.plugins.plugin_utils._input.collection import read_refused_settings
from ansible_collections.hpc.onboard.plugins.plugin_utils._state import last_runs
from ansible_collections.hpc.onboard.plugins.plugin_utils._state.fingerprint_key import state_folder
from ansible_collections.hpc.onboard.plugins.plugin_utils._state.run_memory import BOARD, Clock, Ticker
from ansible_collections.hpc.onboard.plugins.plugin_utils._terminal import account, layout, summary
from ansible_collections.hpc.onboard.plugins.plugin_utils._text import amounts, cells, sanitise

PIPED = 80  # columns of output that is not a terminal
META = ("meta", "ansible.builtin.meta")  # action that ends the play after the user declines
STYLES = {"ok": "OK", "changed": "CHANGED", "error": "ERROR", "note": "SKIP"}  # style -> COLOR_... setting of Ansible
STYLES.update(added="DIFF_ADD", removed="DIFF_REMOVE")


class CallbackModule(Default):  # type: ignore[misc]  # Ansible is untyped
    """Ansible calls the methods v2_... for the events of a run. A renderer makes the lines of one kind of results."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "stdout"
    CALLBACK_NAME = "hpc.onboard.console"

    def __init__(self) -> None:
        super().__init__()
        self._pending_play: Any = None  # a play whose banner is shown only if a task of another collection follows
        self._has_other_tasks = False  # True after a task of another collection, whose output needs Ansible's banners
        self._story = summary.Story()  # the results so far, for the last lines of the run
        self._recorder = last_runs.RunRecorder()  # stores the results on this machine, for later runs
        self._last_length = 0  # number of lines that were printed for the last account
        self._clock = Clock(BOARD.seconds_waited)  # BOARD: progress and questions, from the processes of the tasks
        self._bugs = verdict.BugGuard(
            self._display.error, lambda: self._story.is_planned or context.CLIARGS.get("check")
        )
        self._replaceable: list[str] = []  # accounts with keys that hpc-onboard would replace if the user agreed
        self._printed_steps: dict[str, str] = {}  # account -> the step that was printed last
        self._lock: Any = getattr(self._display, "_lock", None) or threading.RLock()
        self._line: Any = None  # the live line, at a terminal
        self._typing: Any = None  # the terminal's echo, which is off while a run works
        if sys.stdin and sys.stdin.isatty():
            from ansible_collections.hpc.onboard.plugins.plugin_utils._terminal import signals

            self._typing = signals.Typing()
            signals.restore_terminal_on_signals(BOARD.is_hushed, self._typing.show)
        if sys.stdout.isatty():  # imported here, not in the thread: a fork during an import leaves its lock held
            from ansible_collections.hpc.onboard.plugins.plugin_utils._terminal import live_line

            if live_line.is_live(os.environ, is_terminal=True, verbosity=self._display.verbosity):
                self._line = live_line.LiveLine(self._count_columns, bool(color.ANSIBLE_COLOR))
                live_line.call_before_output(self._display, self._lock, self._line.clear)
        self._ticker = Ticker(self._draw_live_line if self._line else self._print_steps, last=self._clear_live_line)

    def _is_own_task(self, task: Any) -> bool:  # other tasks, and with -vv all, are shown by Ansible's default callback
        is_own = task.action in account.KINDS or account.REQUIRES_ACCOUNTS in str(task.get_path())
        return is_own and bool(self._display.verbosity < 2)

    def _count_columns(self) -> int:  # of the terminal, which may be resized
        try:
            return os.get_terminal_size(sys.stdout.fileno()).columns or PIPED
        except (OSError, ValueError):
            return PIPED

    def _make_terminal(self) -> layout.Terminal:  # with its present width; without UTF-8, marks are in ASCII
        encoding = (sys.stdout.encoding or "ascii").lower().replace("-", "")
        return layout.Terminal(layout.limit_width(self._count_columns()), ascii=encoding != "utf8")

    def _make_view(self, is_preview: bool) -> account.View:  # how to show a result: width, check mode, details
        account_count = max(self._clock.total, len(self._story.accounts))
        detail = account.choose_detail(account_count, self._display.verbosity, bool(context.CLIARGS.get("diff")))
        return account.View(self._make_terminal(), is_preview, detail)

    def _print(self, lines: list[layout.Line]) -> None:  # in color on the screen, without color in the log
        BOARD.wait_for_answers()
        with self._bugs:
            for line in lines:
                self._display.display("".join(map(add_color, line)), screen_only=True)
                self._display.display(layout.plain_text(line), log_only=True)

    def _draw_live_line(self) -> None:  # runs in a thread; does nothing if it is too early to draw again
        with self._lock:
            if BOARD.is_hushed() or not self._clock.under_way:  # a question is open, or no account is being worked on
                self._line.clear()
                return
            if (line := self._line.render(self._clock.read_moment(), BOARD.entries, self._make_terminal)) is not None:
                self._line.draw("".join(map(add_color, line)), cells.count_cells(layout.plain_text(line)))

    def _print_steps(self) -> None:  # instead of a live line: prints each new step of an account; runs in a thread
        if BOARD.is_hushed():  # a question is open
            return
        for name, step in BOARD.find_new_steps(self._printed_steps).items():
            self._printed_steps[name] = step
            for line in layout.indented_lines(f"{name}  {sanitise.clean_line(step)}", 0, self._make_terminal()):
                self._display.display(layout.plain_text(line))

    def _clear_live_line(self) -> None:
        if self._line:
            with self._lock:
                self._line.clear()

    def v2_playbook_on_start(self, playbook: Any) -> None:  # ends a run that needs accounts and has none
        play = next((play for play in playbook.get_plays() if account.REQUIRES_ACCOUNTS in str(play.get_path())), None)
        inventory = _find_inventory(play) if play else None
        accounts = inventory and inventory.get_groups_dict().get("accounts")
        if inventory and not (accounts and inventory.get_hosts("accounts")):  # the play would report this in more lines
            from ansible_collections.hpc.onboard.plugins.plugin_utils._input import command_line  # few runs need it

            self._display.error(command_line.explain_no_accounts(context.CLIARGS, bool(accounts)))
            raise SystemExit(2)
        super().v2_playbook_on_start(playbook)

    def v2_playbook_on_no_hosts_matched(self) -> None:  # hidden unless Ansible's banners are shown, too
        if self._has_other_tasks or self._display.verbosity >= 2:
            super().v2_playbook_on_no_hosts_matched()

    def v2_playbook_on_play_start(self, play: Any) -> None:  # its banner is shown later, if at all
        self._pending_play = play
        inventory = _find_inventory(play)
        self._clock.total = len(inventory.get_hosts(play.hosts)) if inventory else 0

    def v2_playbook_on_task_start(self, task: Any, is_conditional: bool) -> None:
        if task.action in META:
            return
        is_own = self._is_own_task(task)
        self._print_plans()  # the previews of the previous task
        if self._typing:
            self._typing.set_hidden(is_own)
        self._clock.begin_task()
        if is_own:
            self._ticker.start()
        if not is_own or self._has_other_tasks:  # after a task of another collection, Ansible's banners are shown
            if self._pending_play is not None:
                super().v2_playbook_on_play_start(self._pending_play)
                self._pending_play = None
            self._has_other_tasks = True
            super().v2_playbook_on_task_start(task, is_conditional)

    def v2_runner_on_start(self, host: Any, task: Any) -> None:
        self._clock.begin(host.get_name(), self._is_own_task(task))
        if not self._is_own_task(task):
            super().v2_runner_on_start(host, task)

    def v2_runner_on_ok(self, result: Any) -> None:
        if self._is_own_result(result):
            self._show(result, result.result)
        else:
            super().v2_runner_on_ok(result)

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        sentences = read_refused_settings(result.result) if self._display.verbosity < 2 else []  # -vv: Ansible's text
        if not self._is_own_result(result) and not sentences:
            super().v2_runner_on_failed(result, ignore_errors)
            return
        if sentences:
            result.result["msg"] = "\n".join(sentences)
        is_ignored = ignore_errors and not _find_renderer(result).is_judged_later  # such a failure still counts
        self._show(result, {**result.result, "failed": True}, is_ignored)
        if is_ignored:
            self._print([(layout.Span("...ignoring", "note"),)])

    def v2_runner_on_unreachable(self, result: Any) -> None:
        if self._is_own_result(result):
            self._show(result, {**result.result, "unreachable": True})
        else:
            super().v2_runner_on_unreachable(result)

    def v2_runner_on_skipped(self, result: Any) -> None:  # tasks of Ansible itself (META) stay silent
        if self._is_own_result(result):
            self._clock.end(result.host.get_name())
            if _find_renderer(result).shows_skips:
                self._print([(layout.Span(f"- {result.host.get_name()}  skipped", "note"),)])
        elif result.task.action not in META:
            super().v2_runner_on_skipped(result)

    def v2_on_file_diff(self, result: Any) -> None:  # the renderer of an own result shows its diff
        if not self._is_own_result(result):
            super().v2_on_file_diff(result)

    def v2_playbook_on_no_hosts_remaining(self) -> None:  # hidden unless Ansible's banners are shown, too
        if self._has_other_tasks or self._display.verbosity >= 2:
            super().v2_playbook_on_no_hosts_remaining()

    def v2_playbook_on_stats(self, stats: Any) -> None:  # at the end of the run
        self._ticker.stop()
        if self._typing:
            self._typing.show()
        total, failed, unreachable, changed = map(len, (stats.processed, stats.failures, stats.dark, stats.changed))
        verdict.send_totals(verdict.RunTotals(total, failed, unreachable, changed, tuple(self._replaceable)))
        reason = self._recorder.write({name: end.state for name, end in self._story.accounts.items()}, context.CLIARGS)
        if reason:
            self._display.warning(f"The results of this run could not be stored: {reason}")
        if self._has_other_tasks or self._display.verbosity >= 2:
            super().v2_playbook_on_stats(stats)
            self._print(summary.keyring_lines(self._story.keyrings, self._make_terminal()))
        elif self._story.accounts or self._story.next_command:  # a run that ended with results
            view = self._make_view(is_preview=bool(context.CLIARGS.get("check", False)))
            self._print_plans(amounts.describe_duration(self._clock.elapsed()))
            command, limit = self._repeat_command(), context.CLIARGS.get("subset") or ""
            self._print(summary.summary_lines(self._story, view, command, limit, self._clock.elapsed()))
            self._print_reminders(view.terminal)
        else:  # nothing to summarise
            self._print(summary.sandbox_lines(self._story.sandboxes, self._make_terminal()))
        if self._bugs.has_bug:  # a result was not shown
            raise SystemExit(2)

    def _is_own_result(self, result: Any) -> bool:  # "results", of a loop, repeats what was shown for each item
        return self._is_own_task(result.task) and "results" not in result.result

    def _show(self, result: Any, content: account.Result, is_ignored: bool = False) -> None:
        """Record and print a result. content: the fields to show. is_ignored: the playbook ignores the failure."""
        with self._bugs:
            name, content, renderer = result.host.get_name(), dict(content), _find_renderer(result)
            seconds = self._clock.end(name)
            is_unreachable = bool(content.get("unreachable"))
            end = account.AccountEnd("ok") if is_ignored else renderer.find_end(content, is_unreachable)
            self._story.add(name, content, end, renderer)
            if any(outcome.get("evidence", {}).get("unknown_key") for outcome in content.get("outcomes", ())):
                self._replaceable.append(name)  # the account has a key that hpc-onboard does not know
            if not result.task.check_mode:
                self._recorder.add_result(result.task.action, name, content)
            self._handle_warnings(result.result)  # of Ansible
            view = self._make_view(is_preview=bool(result.task.check_mode))
            if renderer.find_error(content):
                self._display.error(renderer.find_error(content), wrap_text=False)
            is_planned = renderer.is_planned(content, view)  # the previews of all accounts are printed together, later
            if renderer.is_hidden(content, view) and not is_planned:
                return
            content.update({} if seconds is None else {"seconds": seconds})
            if content.get("notes") and not self._display.verbosity:  # show only notes that no earlier run has shown
                content["notes"] = self._recorder.find_new_notes(name, content)
            if is_planned:
                self._story.keep_plan(name, (result.host.vars.get("account") or {}).get("project", ""), content)
                return
            lines = renderer.lines(name, content, view._replace(same_as=self._story.find_same_failure(name, end)))
            needs_empty_line = bool(self._last_length) and max(len(lines), self._last_length) > 1
            self._last_length = len(lines)
            self._print([(), *lines] if needs_empty_line else lines)

    def _print_plans(self, duration: str = "") -> None:  # the previews of accounts; duration: of the run, in words
        with self._bugs:
            lines = self._story.pop_plan_lines(self._make_terminal(), duration)
            self._print([(), *lines] if lines and self._last_length else lines)

    def _print_reminders(self, terminal: layout.Terminal) -> None:  # of open rotations and old keys that still work
        if self._story.is_about_keys and (state_folder() / "secrets").is_dir():
            from ansible_collections.hpc.onboard.plugins.plugin_utils._terminal import rotation

            self._print(rotation.reminder_lines(terminal))

    def _repeat_command(self) -> str:  # the command that repeats the run, without -l; "" if no account failed
        if not self._story.has_failures():
            return ""
        from ansible_collections.hpc.onboard.plugins.plugin_utils._input import command_line  # few runs need it

        return command_line.repeat_command(context.CLIARGS, sys.argv[1:], context.CLIARGS.get("args") or ())


def _find_renderer(result: Any) -> account.Renderer:
    """Return the renderer of a result, by its kind or its action. For other tasks, it shows only errors."""
    return account.load_renderer(result.result.get("kind") or account.KINDS.get(result.task.action, "audit_settings"))


def add_color(span: layout.Span) -> str:
    """Return the text of a span in the color of its style, unless Ansible's settings disable colors."""
    if span.style in ("bold", "faint"):
        return f"\033[{1 if span.style == 'bold' else 2}m{span.text}\033[0m" if color.ANSIBLE_COLOR else span.text
    return str(color.stringc(span.text, getattr(constants, f"COLOR_{STYLES[span.style]}"))) if span.style else span.text


def _find_inventory(play: Any) -> Any:
    """Return the inventory of the run; None if this version of Ansible does not provide it."""
    return getattr(play.get_variable_manager(), "_inventory", None)
