# Copyright: hpc.onboard authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shows people what came of their accounts. What it says is decided in plugin_utils/_terminal/account.py."""

from __future__ import annotations

DOCUMENTATION = r"""
name: console
type: stdout
short_description: The result of each account, in words
version_added: 0.1.0
author: The hpc.onboard authors (@hpc-onboard)
description:
  - Shows for each account what M(hpc.onboard.converge) created, changed, skipped and could not do, and why.
  - Other tasks, and all tasks from C(-vv) on, are shown as by P(ansible.builtin.default#callback).
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
from ansible_collections.hpc.onboard.plugins.plugin_utils._state import last_runs
from ansible_collections.hpc.onboard.plugins.plugin_utils._state.fingerprint_key import state_folder
from ansible_collections.hpc.onboard.plugins.plugin_utils._state.run_memory import BOARD, Clock, Ticker
from ansible_collections.hpc.onboard.plugins.plugin_utils._terminal import account, layout, summary
from ansible_collections.hpc.onboard.plugins.plugin_utils._text.sanitise import flat

PIPED = 80
NO_ACCOUNTS = "no accounts file was read, so there are no accounts; name yours by -i FILE"
META = ("meta", "ansible.builtin.meta")  # what a playbook of hpc-onboard does after a no
STYLES = {"ok": "OK", "changed": "CHANGED", "error": "ERROR", "note": "SKIP"}  # as Ansible's settings name them
STYLES.update(added="DIFF_ADD", removed="DIFF_REMOVE")


class CallbackModule(Default):  # type: ignore[misc]  # Ansible is untyped
    """hpc.onboard.console"""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "stdout"
    CALLBACK_NAME = "hpc.onboard.console"

    def __init__(self) -> None:
        super().__init__()
        self._unsaid: Any = None  # a play whose banner is said as soon as a task of others needs it
        self._others = False
        self._story = summary.Story()
        self._recorder = last_runs.RunRecorder()
        self._said = 0  # lines of the account before
        self._clock = Clock(BOARD.waited)
        self._replaceable: list[str] = []
        self._steps: dict[str, str] = {}
        self._lock: Any = getattr(self._display, "_lock", None) or threading.RLock()
        self._line: Any = None  # where one can be drawn over
        self._typing: Any = None  # a terminal, which shows nothing that is typed while a run works
        if sys.stdin and sys.stdin.isatty():
            from ansible_collections.hpc.onboard.plugins.plugin_utils._terminal import signals

            self._typing = signals.Typing()
            signals.restore_terminal_on_signals(BOARD.is_hushed, self._typing.show)
        if sys.stdout.isatty():  # what draws is loaded here, not by the thread: a fork then would leave a lock behind
            from ansible_collections.hpc.onboard.plugins.plugin_utils._terminal import live_line

            if live_line.is_live(os.environ, True, self._display.verbosity):
                self._line = live_line.LiveLine(self._columns, bool(color.ANSIBLE_COLOR))
                live_line.call_before_output(self._display, self._lock, self._line.clear)
        self._watch = Ticker(self._live if self._line else self._say_steps, self._clear)

    # What is shown, and how

    def _speaks(self, task: Any) -> bool:
        ours = task.action in account.KINDS or account.REQUIRES_ACCOUNTS in str(task.get_path())
        return ours and bool(self._display.verbosity < 2)

    def _columns(self) -> int:
        try:
            return os.get_terminal_size(sys.stdout.fileno()).columns or PIPED
        except (OSError, ValueError):
            return PIPED

    def _view(self, check: bool) -> account.View:
        width = layout.limit_width(self._columns())
        letters = (sys.stdout.encoding or "ascii").lower().replace("-", "")
        number = max(self._clock.total, len(self._story.accounts))
        detail = account.choose_detail(number, self._display.verbosity, bool(context.CLIARGS.get("diff")))
        return account.View(layout.Terminal(width, letters != "utf8"), check, detail)

    def _say(self, lines: list[layout.Line]) -> None:
        BOARD.wait_for_answers()
        for line in lines:
            self._display.display("".join(map(painted, line)), screen_only=True)
            self._display.display(layout.plain_text(line), log_only=True)

    def _live(self) -> None:  # drawn by a thread
        with self._lock:
            if BOARD.is_hushed() or not self._clock.under_way:
                self._line.clear()
                return
            line = self._line.render(self._clock.moment(), BOARD.entries, lambda: self._view(False).terminal)
            if line is not None:
                self._line.draw("".join(map(painted, line)), layout.count_cells(layout.plain_text(line)))

    def _say_steps(self) -> None:
        if BOARD.is_hushed():
            return
        for name, step in BOARD.new_steps(self._steps).items():
            self._steps[name] = step
            for line in layout.indented_lines(f"{name}  {flat(step)}", 0, self._view(False).terminal):
                self._display.display(layout.plain_text(line))

    def _clear(self) -> None:
        if self._line:
            with self._lock:
                self._line.clear()

    # What Ansible tells

    def v2_playbook_on_start(self, playbook: Any) -> None:
        play = next((play for play in playbook.get_plays() if account.REQUIRES_ACCOUNTS in str(play.get_path())), None)
        inventory = _inventory(play) if play else None
        known = inventory and inventory.get_groups_dict().get("accounts")
        if inventory and not (known and inventory.get_hosts("accounts")):  # the play would say it in more lines
            limit = f"-l {context.CLIARGS['subset']} excludes all accounts"
            self._display.error(limit if known else NO_ACCOUNTS)
            raise SystemExit(2)
        super().v2_playbook_on_start(playbook)

    def v2_playbook_on_no_hosts_matched(self) -> None:
        if self._others or self._display.verbosity >= 2:
            super().v2_playbook_on_no_hosts_matched()

    def v2_playbook_on_play_start(self, play: Any) -> None:
        self._unsaid = play
        self._clock.total = len(_inventory(play).get_hosts(play.hosts)) if _inventory(play) else 0

    def v2_playbook_on_task_start(self, task: Any, is_conditional: bool) -> None:
        if task.action in META:
            return
        ours = self._speaks(task)
        self._say_plans()
        if self._typing:
            self._typing.set_hidden(ours)
        self._clock.begin_task()
        if ours:
            self._watch.start()
        if not ours or self._others:
            if self._unsaid is not None:
                super().v2_playbook_on_play_start(self._unsaid)
                self._unsaid = None
            self._others = True
            super().v2_playbook_on_task_start(task, is_conditional)

    def v2_runner_on_start(self, host: Any, task: Any) -> None:
        self._clock.begin(host.get_name(), self._speaks(task))
        if not self._speaks(task):
            super().v2_runner_on_start(host, task)

    def v2_runner_on_ok(self, result: Any) -> None:
        if self._is_ours(result):
            self._show(result, result.result)
        else:
            super().v2_runner_on_ok(result)

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        from ansible_collections.hpc.onboard.plugins.plugin_utils._input.collection import refused_settings

        sentences = refused_settings(result.result) if self._display.verbosity < 2 else []
        if not self._is_ours(result) and not sentences:
            super().v2_runner_on_failed(result, ignore_errors)
            return
        if sentences:
            result.result["msg"] = "\n".join(sentences)
        ignored = ignore_errors and not _renderer(result).is_judged_later
        self._show(result, {**result.result, "failed": True}, ignored)
        if ignored:
            self._say([(layout.Span("...ignoring", "note"),)])

    def v2_runner_on_unreachable(self, result: Any) -> None:
        if self._is_ours(result):
            self._show(result, {**result.result, "unreachable": True})
        else:
            super().v2_runner_on_unreachable(result)

    def v2_runner_on_skipped(self, result: Any) -> None:
        if self._is_ours(result):
            self._clock.end(result.host.get_name())
            if _renderer(result).shows_skips:
                self._say([(layout.Span(f"- {result.host.get_name()}  skipped", "note"),)])
        elif result.task.action not in META:
            super().v2_runner_on_skipped(result)

    def v2_on_file_diff(self, result: Any) -> None:
        if not self._is_ours(result):
            super().v2_on_file_diff(result)

    def v2_playbook_on_no_hosts_remaining(self) -> None:
        if self._others or self._display.verbosity >= 2:
            super().v2_playbook_on_no_hosts_remaining()

    def v2_playbook_on_stats(self, stats: Any) -> None:
        self._watch.stop()
        if self._typing:
            self._typing.show()
        seen, failed, dark, changed = map(len, (stats.processed, stats.failures, stats.dark, stats.changed))
        verdict.send_totals(verdict.RunTotals(seen, failed, dark, changed, tuple(self._replaceable)))
        trouble = self._recorder.write({name: end.state for name, end in self._story.accounts.items()}, context.CLIARGS)
        if trouble:
            self._display.warning(f"How this run ended is not remembered here: {trouble}")
        if self._others or self._display.verbosity >= 2:
            super().v2_playbook_on_stats(stats)
            self._say(summary.keyring_lines(tuple(self._story.keyrings), self._view(False).terminal))
        elif self._story.accounts or self._story.next_command:
            view = self._view(bool(context.CLIARGS.get("check", False)))
            self._say_plans(summary.describe_duration(self._clock.elapsed()))
            self._say(summary.summary_lines(self._story.accounts, view, self._run()))
            self._remind(view.terminal)
        else:
            self._say(summary.sandbox_lines(self._near(), self._view(False).terminal))

    def _is_ours(self, result: Any) -> bool:
        return self._speaks(result.task) and "results" not in result.result  # Ansible has shown the items of a loop

    def _show(self, result: Any, found: account.Result, ignored: bool = False) -> None:
        name, shown, renderer = result.host.get_name(), dict(found), _renderer(result)
        seconds = self._clock.end(name)
        end = account.AccountEnd("ok") if ignored else renderer.find_end(shown, bool(shown.get("unreachable")))
        self._story.add(name, shown, end, renderer)
        if any(one.get("evidence", {}).get("unknown_key") for one in shown.get("outcomes", ())):
            self._replaceable.append(name)
        if not result.task.check_mode:
            self._recorder.add_result(result.task.action, name, shown)
        self._handle_warnings(result.result)
        view = self._view(bool(result.task.check_mode))
        if renderer.find_error(shown):
            self._display.error(renderer.find_error(shown), wrap_text=False)
        if renderer.is_hidden(shown, view) and not renderer.is_planned(shown, view):
            return
        shown.update({} if seconds is None else {"seconds": seconds})
        if shown.get("notes") and not self._display.verbosity:
            shown["notes"] = self._recorder.new_notes(name, shown)
        if renderer.is_planned(shown, view):
            self._story.keep_plan(name, (result.host.vars.get("account") or {}).get("project", ""), shown)
            return
        lines = renderer.lines(name, shown, view, self._story.find_same_failure(name, end))
        apart = bool(self._said) and max(len(lines), self._said) > 1  # more is said than a line
        self._said = len(lines)
        self._say([(), *lines] if apart else lines)

    def _say_plans(self, duration: str = "") -> None:
        lines = self._story.pop_plan_lines(self._view(True).terminal, duration)
        self._say([*([()] if lines and self._said else []), *lines])

    def _remind(self, terminal: layout.Terminal) -> None:
        """Say which rotation is open and which old key lives on, where a run was about keys."""
        if self._story.is_about_keys and (state_folder() / "secrets").is_dir():
            from ansible_collections.hpc.onboard.plugins.plugin_utils._terminal import rotation

            self._say(rotation.reminder_lines(terminal))

    def _run(self) -> summary.RunSummary:
        story, options = self._story, context.CLIARGS
        words = sys.argv[1:], options.get("args") or ()
        typed = _command_line().repeat_command(options, *words) if story.is_bad() else ""
        return story.summarise(typed, self._clock.elapsed(), self._near())

    def _near(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(_command_line().relative_path(folder) for folder in self._story.sandboxes))


def _renderer(result: Any) -> account.Renderer:
    return account.load_renderer(result.result.get("kind") or account.KINDS.get(result.task.action, "audit_settings"))


def _command_line() -> Any:
    from ansible_collections.hpc.onboard.plugins.plugin_utils._input import command_line  # few runs print a command

    return command_line


def painted(span: layout.Span) -> str:
    """The text of a span with its colour, a setting of Ansible's, when there are colours."""
    if span.style in ("bold", "faint"):
        return f"\033[{1 + (span.style == 'faint')}m{span.text}\033[0m" if color.ANSIBLE_COLOR else span.text
    return str(color.stringc(span.text, getattr(constants, f"COLOR_{STYLES[span.style]}"))) if span.style else span.text


def _inventory(play: Any) -> Any:
    """The inventory of a run; None when Ansible does not tell."""
    return getattr(play.get_variable_manager(), "_inventory", None)
