"""When to step: real-time pacing, and as fast as possible, as a state machine without a clock of
its own.

The caller reads a steady clock and passes integer nanoseconds in.  Step n of a run is due at
``origin + n * period / real_time_factor``, computed in integers.  After a delay of at most
``max_catch_up`` the missed steps are done at once; after a longer one the time beyond it is
skipped: the origin is moved, and the loss is counted.  Simulated time never jumps and never runs
backwards.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from robot_dynamics_ros.errors import ArgumentError

_SECOND_NS = 1_000_000_000
# Distance of a stamp from its clock at which it is moved beside it again, ns.
_RESYNC_NS = 50_000_000
# Two clocks that were read further apart than this say nothing about each other: the process
# stood still meanwhile, ns.
_TOGETHER_NS = 1_000_000


@dataclass(frozen=True, slots=True)
class Due:
    """Steps that the pacer asks for.

    Attributes:
        steps: simulation steps to do now.
        wait_ns: nanoseconds until the next step falls due, counted from the moment asked; 0 if
            steps are left over from a limited burst, ``None`` while paused.
    """

    steps: int
    wait_ns: int | None


class RealTimePacer:
    """Paces simulation steps to a steady clock.

    Args:
        period: duration of one step in simulated seconds.
        real_time_factor: simulated seconds per second of the clock; ``inf`` runs as fast as
            possible.
        max_catch_up: longest delay whose steps are still computed, in seconds of the clock.
        max_burst: largest number of steps returned by one call.

    Attributes:
        steps: number of steps returned since :meth:`start`.
        late_steps: steps that were returned after the next one was already due.
        lost_ns: clock time whose steps were skipped, ns.
        paused: whether the pacer is paused.
    """

    def __init__(
        self,
        period: float,
        *,
        real_time_factor: float = 1.0,
        max_catch_up: float = 0.1,
        max_burst: int = 20,
    ) -> None:
        if not (period > 0.0 and period < 1e6):
            raise ArgumentError("must be a positive number of seconds", where="period", got=period)
        if not real_time_factor > 0.0:
            remedy = "1 is real time, inf is as fast as possible."
            raise ArgumentError(
                "must be positive", where="real_time_factor", got=real_time_factor, remedy=remedy
            )
        if not max_catch_up >= 0.0:
            raise ArgumentError("must not be negative", where="max_catch_up", got=max_catch_up)
        if max_burst < 1:
            raise ArgumentError("must be at least 1", where="max_burst", got=max_burst)
        self.period = float(period)
        self.real_time_factor = float(real_time_factor)
        self.max_burst = int(max_burst)
        self._free_running = real_time_factor == float("inf")
        if not self._free_running:
            # the decimal the user wrote, not its nearest binary fraction: 0.001 s is exactly 1 ms,
            # for ever
            exact = Fraction(repr(self.period)) / Fraction(repr(self.real_time_factor)) * _SECOND_NS
            self._numerator = exact.numerator
            self._denominator = exact.denominator
            self._catch_up_steps = max(
                1, int(Fraction(repr(float(max_catch_up))) * _SECOND_NS / exact)
            )
        self._origin: int | None = None
        self._index = 0
        self._paused_at: int | None = None
        self._single_steps = 0
        self.steps = 0
        self.late_steps = 0
        self.lost_ns = 0

    @property
    def paused(self) -> bool:
        return self._paused_at is not None

    def start(self, now_ns: int) -> None:
        """Begin a run: step 1 falls due one period from now.

        Counters start at zero; a pause stays a pause.
        """
        self._origin = now_ns
        self._index = 0
        self.steps = self.late_steps = self.lost_ns = 0
        self._single_steps = 0
        if self.paused:
            self._paused_at = now_ns

    def _due_time(self, index: int) -> int:
        """Clock time at which step ``index`` (counted from 1) is due, rounded up to a
        nanosecond.
        """
        assert self._origin is not None
        return self._origin - (-index * self._numerator // self._denominator)

    def pause(self, now_ns: int) -> None:
        """Stop handing out steps."""
        if self._paused_at is None:
            self._paused_at = now_ns

    def resume(self, now_ns: int) -> None:
        """Go on where :meth:`pause` stopped; the time in between is not made up for."""
        if self._paused_at is not None:
            if self._origin is not None:
                self._origin += now_ns - self._paused_at
            self._paused_at = None

    def single_step(self, count: int = 1) -> None:
        """While paused, let ``count`` more steps through."""
        if self.paused:
            self._single_steps += int(count)

    def poll(self, now_ns: int) -> Due:
        """How many steps to do now and how long to wait after them.

        The clock may stand still or step back (then nothing is due until it has caught up, at most
        one period later: a larger backward step moves the origin).
        """
        if self._origin is None:
            self.start(now_ns)
        if self.paused:
            steps = min(self._single_steps, self.max_burst)
            self._single_steps -= steps
            self.steps += steps
            return Due(steps, 0 if self._single_steps else None)
        if self._free_running:
            self.steps += 1
            return Due(1, 0)
        assert self._origin is not None
        elapsed = now_ns - self._origin
        # steps that should have been done by now
        due_index = elapsed * self._denominator // self._numerator
        late = due_index - self._index
        # the clock was set back
        if late < -1:
            self._origin = now_ns
            self._index = 0
            return Due(0, self._due_time(self._index + 1) - now_ns)
        if late > self._catch_up_steps:
            excess = late - self._catch_up_steps
            lost = self._due_time(self._index + excess) - self._due_time(self._index)
            self._origin += lost
            self.lost_ns += lost
            late = (now_ns - self._origin) * self._denominator // self._numerator - self._index
        steps = max(0, min(late, self.max_burst))
        self.late_steps += max(0, steps - 1)
        self._index += steps
        self.steps += steps
        wait = self._due_time(self._index + 1) - now_ns
        return Due(steps, max(0, wait))

    def lag(self, now_ns: int) -> int:
        """How far the steps handed out are behind the clock and still to be made up for, ns; 0
        unless paced.
        """
        if self._origin is None or self.paused or self._free_running:
            return 0
        return max(0, now_ns - self._due_time(self._index))


class StampOrigin:
    """Where simulated time begins, so that stamps lie beside another clock and do not go back
    unless that clock does.

    Attributes:
        ns: stamp of simulated time zero.
    """

    def __init__(self) -> None:
        self.ns = 0

    def follow(
        self,
        elapsed_ns: int,
        pacer: RealTimePacer,
        steady: Callable[[], int],
        clock: Callable[[], int],
    ) -> int:
        """``ns``, moved if the stamp of simulated time ``elapsed_ns`` is far from ``clock``, the
        clock of stamps, ns.

        ``steady`` is the clock that the pacer is polled with.  Steps that are still to be made up
        for have the stamps that they would have had.
        """
        before = steady()
        stamp = clock() - pacer.lag(before)
        if steady() - before < _TOGETHER_NS and abs(self.ns + elapsed_ns - stamp) > _RESYNC_NS:
            self.ns = stamp - elapsed_ns
        return self.ns
