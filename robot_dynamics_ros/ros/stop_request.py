"""Every signal that would end or halt the process, as a flag that a node looks at between two
callbacks.
"""

from __future__ import annotations

# built into the interpreter: there is no file to read while a signal comes
import _signal as signal  # type: ignore[import-not-found]
from types import FrameType

# What a fault in machine code raises: a handler in Python would repeat the fault for ever.
_OF_MACHINE_CODE = {
    signal.SIGSEGV,
    signal.SIGBUS,
    signal.SIGFPE,
    signal.SIGILL,
    signal.SIGTRAP,
    signal.SIGSYS,
}
# What cannot be caught, and what neither ends nor halts a process.
_NO_END = {
    signal.SIGKILL,
    signal.SIGSTOP,
    signal.SIGCHLD,
    signal.SIGCONT,
    signal.SIGURG,
    signal.SIGWINCH,
}
# What halts a process in the background for using its terminal; ignored, it goes on.
_TERMINAL = {signal.SIGTTIN, signal.SIGTTOU}
# What asks for the end even if the parent process has ignored it, as shells do for processes in
# the background.
_ALWAYS = {signal.SIGINT, signal.SIGTERM}


class StopRequest:
    """Becomes true with any signal that can be caught and would end or halt the process.

    A closed terminal (SIGHUP), Ctrl-Z (SIGTSTP) or a watchdog (SIGABRT) leaves no effort standing.
    Signals that were ignored at the start stay ignored (``nohup``), and SIGINT and SIGTERM never
    are.
    """

    def __init__(self) -> None:
        self._stopped = False
        self._numbers = []
        signals = signal.valid_signals() - _OF_MACHINE_CODE - _NO_END - _TERMINAL
        for number in signals:
            if number in _ALWAYS or signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, self._stop)
                self._numbers.append(number)
        for number in _TERMINAL:
            signal.signal(number, signal.SIG_IGN)
        # the parent process may have blocked them
        signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)

    def _stop(self, _number: int, _frame: FrameType | None) -> None:
        self._stopped = True

    def close(self) -> None:
        """The process is about to end: from now on signals are ignored, or a late one would kill it
        half-way.
        """
        self._stopped = True
        for number in self._numbers:
            signal.signal(number, signal.SIG_IGN)

    def __bool__(self) -> bool:
        return self._stopped
