"""Loops, and memory that they work on, in LLVM assembly."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from robot_dynamics_ros.dynamics.engine.codegen.llvm_source import Emitter
from robot_dynamics_ros.dynamics.engine.codegen.loop_program import LoopProgram, round_up


class Writer:
    """Writes the body of one function; ``label`` is that of the block that is being written."""

    def __init__(self) -> None:
        self.e = Emitter(1)
        self.label = "entry"
        self.labels = 0

    def function(self, head: str) -> str:
        """The whole function; ``head``: what stands between ``define`` and the body."""
        return "\n".join([f"define {head} {{", "entry:", *self.e.lines, "}"])

    def put(self, text: str) -> str:
        return self.e.put(text)

    def line(self, text: str) -> None:
        self.e.lines.append("  " + text)

    def fresh(self, word: str) -> str:
        self.labels += 1
        return f"{word}{self.labels}"

    def start(self, label: str) -> None:
        self.e.lines.append(f"{label}:")
        self.label = label

    def jump(self, label: str) -> None:
        self.line(f"br label %{label}")

    def loop(self, first: str, stop: str, step: int, body: Callable[[str], None]) -> None:
        """``for x in range(first, stop, step)``; counts down if ``step`` is negative, ``stop`` excluded either way."""

        def run(x: str, _: list[str]) -> list[str]:
            body(x)
            return []

        self.carrying(first, stop, step, run, ())

    def carrying(
        self,
        first: str,
        stop: str,
        step: int,
        body: Callable[[str, list[str]], list[str]],
        carried: Sequence[tuple[str, str]],
    ) -> list[str]:
        """The same with values, (type, start) each, that each round gets and hands to the next; returns the last ones."""
        head, inside, latch, done = (self.fresh(w) for w in ("head", "body", "latch", "done"))
        before = self.label
        self.jump(head)
        self.start(head)
        x = f"%{self.fresh('x')}"
        self.line(f"{x} = phi i64 [ {first}, %{before} ], [ {x}n, %{latch} ]")
        names, phis = [f"%{self.fresh('c')}" for _ in carried], len(self.e.lines)
        self.e.lines += [""] * len(carried)
        more = self.put(f"icmp {'slt' if step > 0 else 'sgt'} i64 {x}, {stop}")
        self.line(f"br i1 {more}, label %{inside}, label %{done}")
        self.start(inside)
        further = body(x, names)
        self.jump(latch)
        self.start(latch)
        self.line(f"{x}n = add nsw i64 {x}, {step}")
        self.jump(head)
        self.start(done)
        for k, ((kind, value), name, new) in enumerate(zip(carried, names, further, strict=True)):
            self.e.lines[phis + k] = f"  {name} = phi {kind} [ {value}, %{before} ], [ {new}, %{latch} ]"
        return names

    def at(self, base: str, index: str, scale: int = 1, offset: int = 0) -> str:
        if scale != 1:
            index = self.put(f"mul nsw i64 {index}, {scale}")
        if offset:
            index = self.put(f"add nsw i64 {index}, {offset}")
        return self.put(f"getelementptr inbounds double, ptr {base}, i64 {index}")

    def bytes_at(self, base: str, index: str, step: str | int) -> str:
        return self.put(f"getelementptr i8, ptr {base}, i64 {self.put(f'mul i64 {index}, {step}')}")


class Flow(Writer):
    """Writes the body of a loop program's function; ``rows`` emits vectors that fill a register."""

    def __init__(self, program: LoopProgram, width: int) -> None:
        super().__init__()
        self.p = program
        self.rows = Emitter(max(2, width), "r")
        self.rows.lines = self.e.lines

    def chain(
        self,
        table: str,
        first: str,
        body: Callable[[str, list[str]], list[str]],
        carried: Sequence[tuple[str, str]] = (),
    ) -> list[str]:
        """``x = table[first]; while x >= 0: …; x = table[x]``, with values that each round hands to the next."""
        head, inside, done = (self.fresh(w) for w in ("head", "link", "done"))
        start = self.put(f"getelementptr inbounds i64, ptr @{table}, i64 {first}")
        start = self.put(f"load i64, ptr {start}, align 8, !invariant.load !0")
        before = self.label
        self.jump(head)
        self.start(head)
        x, phis = f"%{self.fresh('x')}", len(self.e.lines)
        names = [f"%{self.fresh('c')}" for _ in carried]
        self.e.lines += [""] * (1 + len(carried))
        self.line(f"br i1 {self.put(f'icmp sge i64 {x}, 0')}, label %{inside}, label %{done}")
        self.start(inside)
        further = body(x, names)
        up = self.put(f"getelementptr inbounds i64, ptr @{table}, i64 {x}")
        up = self.put(f"load i64, ptr {up}, align 8, !invariant.load !0")
        phi = [("i64", start, x, up), *((t, v, n, f) for (t, v), n, f in zip(carried, names, further, strict=True))]
        for k, (kind, value, name, new) in enumerate(phi):
            self.e.lines[phis + k] = f"  {name} = phi {kind} [ {value}, %{before} ], [ {new}, %{self.label} ]"
        self.jump(head)
        self.start(done)
        return names

    def row_length(self, number: int) -> int:
        """Doubles from one row of a matrix to the next."""
        return round_up(self.p.nv) if number in self.p.scratch else self.p.nv
