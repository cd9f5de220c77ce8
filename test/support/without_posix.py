"""Take away what Windows does not have, then run what follows: ``python without_posix.py -c CODE``
or ``… -m pytest …``.
"""

import contextlib
import ctypes
import ctypes.util
import os
import runpy
import signal
import sys

MATHEMATICS = ctypes.util.find_library("m")
for module, names in (
    (
        signal,
        "SIGALRM SIGHUP SIGUSR1 SIGUSR2 SIGKILL SIGTSTP SIGSTOP SIGCONT SIGQUIT setitimer "
        "getitimer ITIMER_REAL alarm pause",
    ),
    (
        os,
        "getpgid killpg nice sched_getaffinity sched_setaffinity sched_setscheduler mkfifo "
        "getloadavg",
    ),
):
    for name in names.split():
        with contextlib.suppress(AttributeError):
            delattr(module, name)
for name in ("fcntl", "resource", "termios", "pwd", "grp"):
    sys.modules[name] = None
_load = ctypes.CDLL.__init__


def _load_by_name(self, name, *arguments, **options):
    if name is None:
        raise TypeError("LoadLibrary() argument 1 must be str, not None")
    _load(self, MATHEMATICS if name == "ucrtbase" else name, *arguments, **options)


ctypes.CDLL.__init__ = _load_by_name
ctypes.util.find_library = lambda name: None

if __name__ == "__main__":
    kind, what, *sys.argv[1:] = sys.argv[1:]
    if kind == "-c":
        exec(what, {"__name__": "__main__"})
    else:
        runpy.run_module(what, run_name="__main__", alter_sys=True)
