"""Who watches a replay: the terminal, a page, or lines on its progress."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from cli.common import progress, say, stderr
from cli.live.history import History, Subject
from cli.live.page_process import PageProcess
from cli.live.terminal import TerminalView
from validate.replay.pinning import cores_here, pinning_of
from validate.replay.plan import Options
from validate.replay.replay import Progress
from validate.replay.seconds import Seen, Watch

_STAGES = {"prepare": "writing objects to read", "replay": "replaying"}


class Watching:
    """Shows the stages of a replay, and what is seen of its requests.

    Attributes:
        see: what `validate.replay.replay.replay` hands over to; None: no one watches.
    """

    def __init__(self, stack: ExitStack, view: tuple[TerminalView, History] | None, page: PageProcess | None) -> None:
        self._bars, self._view, self._page = stack, view, page
        self._shown: dict[str, Callable[[float], None]] = {}
        self._last_percent = -1
        self.see: Watch | None = self._see if view is not None or page is not None else None

    def progress(self, stage: str, done: float, total: float) -> None:
        """Show how far a stage is: as a bar, except for what the terminal view shows."""
        if stage not in self._shown:
            self._bars.close()
            has_view = stage == "replay" and self._view is not None
            bar = None if has_view else self._bars.enter_context(progress(_STAGES[stage], total))
            self._shown[stage] = bar or (lambda done: None)
        self._shown[stage](done)
        percent = int(100 * done / total) if total else 0
        if self._page is not None and stage == "prepare" and percent != self._last_percent:
            self._last_percent = percent
            self._page.stage(f"{_STAGES[stage]}, {percent} %")

    def _see(self, seen: Seen) -> None:
        if self._page is not None:
            self._page.see(seen)
        if self._view is not None:
            view, history = self._view
            history.add(seen)
            view.show(history)

    def end(self, lines: list[str]) -> None:
        """Show on the page how the replay ended."""
        if self._page is not None:
            self._page.end(lines)


@contextmanager
def bars() -> Iterator[Progress]:
    """Show a progress bar for each stage of replays, one after the other."""
    with ExitStack() as stack:
        yield Watching(stack, None, None).progress


@contextmanager
def watching(subject: Subject, options: Options, port: int | None) -> Iterator[Watching]:
    """Show a replay on the terminal, if stderr is one, and on a page.

    Args:
        subject: what is replayed.
        options: how; with `pin`, the page is kept off the clients' cores.
        port: of the page; 0: any free one; None: no page.

    Raises:
        InputError: the port cannot be used, or a package is missing.
    """
    with ExitStack() as stack:
        page = None
        if port is not None:
            pinning = pinning_of(cores_here(), options.processes) if options.pin else None
            cores = pinning.server if pinning is not None else []
            page = stack.enter_context(PageProcess(subject, port, cores, _say_lost))
            say(f"watch the replay at {page.url}")
        view = (stack.enter_context(TerminalView()), History(subject)) if stderr.is_terminal else None
        yield Watching(stack.enter_context(ExitStack()), view, page)


def _say_lost() -> None:
    say("note: the page does not follow any more; the replay goes on without it")
