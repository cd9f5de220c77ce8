"""Thread pool for batches, in LLVM assembly: threads take pieces of a batch without Python and its lock.

A *piece function* is ``i64 piece(i64 begin, i64 end, i64 thread, ptr context)``: it computes states begin to end, and
returns −1, or the first state of a group that it refused.  Each thread has a range of its own, from which it takes one
piece after the other; who is done takes pieces of the others' ranges.

A thread without work looks for some for a few microseconds, then sleeps; waking it takes tens of microseconds.
"""

from __future__ import annotations

from collections.abc import Sequence

from robot_dynamics_ros.dynamics.engine.codegen.llvm_checks import unit_length, zero_times_sum
from robot_dynamics_ros.dynamics.engine.codegen.llvm_source import Emitter
from robot_dynamics_ros.dynamics.engine.codegen.llvm_wrapper import ArrayArgument

__all__ = [
    "BAD",
    "CONTEXT_HEAD",
    "JOB_WORDS",
    "MAIN_SEMAPHORE",
    "RANGES",
    "REFUSE_NOT_FINITE",
    "REFUSE_NOT_UNIT",
    "SEMAPHORE",
    "STRIDE",
    "chunk",
    "piece_function",
    "pool_module",
]

# Words of the pool's memory.  What several threads write has cache lines of its own, in pairs as processors fetch them.
JOB_WORDS = 4
"""Address of the piece function, its context, how many threads, states of a piece."""
BAD, PENDING, MAIN_SEMAPHORE, RANGES = 16, 32, 48, 64
"""First state that was refused; threads at work; what the caller sleeps on; from where the threads' own words are."""
STRIDE, STATE, SEMAPHORE = 32, 16, 20
"""Words of each thread (next state and end of its range first), where among them its state is, and what it sleeps on."""
NONE_BAD = 2**63 - 1
IDLE, CALLED, ASLEEP, RUNNING = range(4)
LOOKS = 1500
"""Times that a thread looks for work, or for the others to finish, before it sleeps: some 30 µs."""
_SLEEPER = 1 << 32

_PAUSE = {
    "x86_64": ("declare void @llvm.x86.sse2.pause()", "  call void @llvm.x86.sse2.pause()"),
    "aarch64": ("declare void @llvm.aarch64.hint(i32)", "  call void @llvm.aarch64.hint(i32 1)"),
}


def pool_module(processor: str) -> str:
    """``void @helper(ptr pool, i64 thread)``, which waits for jobs and never returns; ``void @run(ptr pool)``,
    which has a job done; ``void @work(ptr pool, i64 thread)``, one thread's share of it; ``i64 @alone(ptr piece, i64 begin,
    i64 end, ptr context)``.

    Args:
        processor: first word of the target's triple.
    """
    declaration, pause = _PAUSE.get(processor, ("", ""))
    declarations = [declaration, "declare i32 @sem_wait(ptr)", "declare i32 @sem_post(ptr)"]
    return "\n".join([*declarations, _ALONE, _work(), _helper(pause), _call(), _recall(), _wait(pause), _RUN]) + "\n"


_ALONE = """
define i64 @alone(ptr %piece, i64 %begin, i64 %end, ptr %context) nounwind {
entry:
  %bad = call i64 %piece(i64 %begin, i64 %end, i64 0, ptr %context)
  ret i64 %bad
}"""

_RUN = """
define void @run(ptr %pool) nounwind {
entry:
  %several_at = getelementptr i64, ptr %pool, i64 2
  %several = load i64, ptr %several_at
  call void @call(ptr %pool, i64 %several)
  call void @work(ptr %pool, i64 0)
  call void @recall(ptr %pool, i64 %several)
  call void @wait(ptr %pool)
  fence seq_cst
  ret void
}"""


def _work() -> str:
    """One thread's share: pieces of its own range, then of the others'."""
    return f"""
define void @work(ptr %pool, i64 %me) nounwind {{
entry:
  %piece = load ptr, ptr %pool
  %context_at = getelementptr i64, ptr %pool, i64 1
  %context = load ptr, ptr %context_at
  %several_at = getelementptr i64, ptr %pool, i64 2
  %several = load i64, ptr %several_at
  %length_at = getelementptr i64, ptr %pool, i64 3
  %length = load i64, ptr %length_at
  %bad_at = getelementptr i64, ptr %pool, i64 {BAD}
  br label %range
range:
  %k = phi i64 [ 0, %entry ], [ %k_next, %range_done ]
  %k_next = add i64 %k, 1
  %on = icmp slt i64 %k, %several
  br i1 %on, label %choose, label %out
choose:
  %sum = add i64 %me, %k
  %whose = urem i64 %sum, %several
{_own_word("next_at", "%whose", 0)}
  %end_at = getelementptr i64, ptr %next_at, i64 1
  %end = load i64, ptr %end_at
  br label %look
look:
  %bad = load volatile i64, ptr %bad_at
  %fine = icmp eq i64 %bad, {NONE_BAD}
  br i1 %fine, label %take, label %out
take:
  %i = atomicrmw add ptr %next_at, i64 %length seq_cst
  %more = icmp slt i64 %i, %end
  br i1 %more, label %do, label %range_done
do:
  %i_next = add i64 %i, %length
  %whole = icmp slt i64 %i_next, %end
  %until = select i1 %whole, i64 %i_next, i64 %end
  %refused = call i64 %piece(i64 %i, i64 %until, i64 %me, ptr %context)
  %good = icmp slt i64 %refused, 0
  br i1 %good, label %look, label %mark
mark:
  %before = atomicrmw umin ptr %bad_at, i64 %refused seq_cst
  br label %look
range_done:
  br label %range
out:
  ret void
}}"""


def _helper(pause: str) -> str:
    """A thread of the pool: looks for a call, sleeps when none comes, and wakes the caller when it is the last to end."""
    return f"""
define void @helper(ptr %pool, i64 %me) nounwind {{
entry:
{_own_word("state", "%me", STATE)}
  %own = getelementptr i64, ptr %state, i64 {SEMAPHORE - STATE}
  %callers = getelementptr i64, ptr %pool, i64 {MAIN_SEMAPHORE}
  %pending = getelementptr i64, ptr %pool, i64 {PENDING}
  br label %idle
idle:
  br label %spin
spin:
  %n = phi i64 [ 0, %idle ], [ %n_next, %not_yet ]
  %now = load volatile i64, ptr %state
  %called = icmp eq i64 %now, {CALLED}
  br i1 %called, label %take, label %not_yet
not_yet:
{pause}
  %n_next = add i64 %n, 1
  %awake = icmp slt i64 %n_next, {LOOKS}
  br i1 %awake, label %spin, label %doze
doze:
  %dozed = cmpxchg ptr %state, i64 {IDLE}, i64 {ASLEEP} seq_cst seq_cst
  %sleeps = extractvalue {{ i64, i1 }} %dozed, 1
  br i1 %sleeps, label %sleep, label %idle
sleep:
  %woken = call i32 @sem_wait(ptr %own)
  %then = load volatile i64, ptr %state
  %still = icmp eq i64 %then, {ASLEEP}
  br i1 %still, label %sleep, label %idle
take:
  %taken = cmpxchg ptr %state, i64 {CALLED}, i64 {RUNNING} seq_cst seq_cst
  %mine = extractvalue {{ i64, i1 }} %taken, 1
  br i1 %mine, label %go, label %idle
go:
  call void @work(ptr %pool, i64 %me)
  %ran = atomicrmw xchg ptr %state, i64 {IDLE} seq_cst
  %left = atomicrmw sub ptr %pending, i64 1 seq_cst
  %last = icmp eq i64 %left, {_SLEEPER + 1}
  br i1 %last, label %wake, label %idle
wake:
  %posted = call i32 @sem_post(ptr %callers)
  br label %idle
}}"""


def _call() -> str:
    """Call the other threads, and wake those that sleep."""
    return f"""
define internal void @call(ptr %pool, i64 %several) nounwind {{
entry:
  %pending = getelementptr i64, ptr %pool, i64 {PENDING}
  %helpers = sub i64 %several, 1
  %none = atomicrmw xchg ptr %pending, i64 %helpers seq_cst
  br label %next
next:
  %t = phi i64 [ 1, %entry ], [ %t_next, %called ]
  %t_next = add i64 %t, 1
  %more = icmp slt i64 %t, %several
  br i1 %more, label %call_one, label %done
call_one:
{_own_word("state", "%t", STATE)}
  %was = atomicrmw xchg ptr %state, i64 {CALLED} seq_cst
  %slept = icmp eq i64 %was, {ASLEEP}
  br i1 %slept, label %wake, label %called
wake:
  %own = getelementptr i64, ptr %state, i64 {SEMAPHORE - STATE}
  %posted = call i32 @sem_post(ptr %own)
  br label %called
called:
  br label %next
done:
  ret void
}}"""


def _recall() -> str:
    """Take the call back from threads that have not begun."""
    return f"""
define internal void @recall(ptr %pool, i64 %several) nounwind {{
entry:
  %pending = getelementptr i64, ptr %pool, i64 {PENDING}
  br label %next
next:
  %t = phi i64 [ 1, %entry ], [ %t_next, %recalled ]
  %t_next = add i64 %t, 1
  %more = icmp slt i64 %t, %several
  br i1 %more, label %recall_one, label %done
recall_one:
{_own_word("state", "%t", STATE)}
  %taken = cmpxchg ptr %state, i64 {CALLED}, i64 {IDLE} seq_cst seq_cst
  %not_begun = extractvalue {{ i64, i1 }} %taken, 1
  br i1 %not_begun, label %one_less, label %recalled
one_less:
  %before = atomicrmw sub ptr %pending, i64 1 seq_cst
  br label %recalled
recalled:
  br label %next
done:
  ret void
}}"""


def _wait(pause: str) -> str:
    """Wait until no other thread is at work: look a while, then sleep."""
    return f"""
define internal void @wait(ptr %pool) nounwind {{
entry:
  %callers = getelementptr i64, ptr %pool, i64 {MAIN_SEMAPHORE}
  %pending = getelementptr i64, ptr %pool, i64 {PENDING}
  br label %look
look:
  %n = phi i64 [ 0, %entry ], [ %n_next, %not_yet ]
  %at_work = load volatile i64, ptr %pending
  %all = icmp eq i64 %at_work, 0
  br i1 %all, label %done, label %not_yet
not_yet:
{pause}
  %n_next = add i64 %n, 1
  %patient = icmp slt i64 %n_next, {LOOKS}
  br i1 %patient, label %look, label %doze
doze:
  %then = atomicrmw or ptr %pending, i64 {_SLEEPER} seq_cst
  %finished = icmp eq i64 %then, 0
  br i1 %finished, label %done, label %sleep
sleep:
  %woken = call i32 @sem_wait(ptr %callers)
  %now = load volatile i64, ptr %pending
  %over = icmp eq i64 %now, {_SLEEPER}
  br i1 %over, label %done, label %sleep
done:
  ret void
}}"""


def _own_word(name: str, thread: str, word: int) -> str:
    """``%name``: the address of one of a thread's own words."""
    return f"""\
  %{name}_words = mul i64 {thread}, {STRIDE}
  %{name}_place = add i64 %{name}_words, {RANGES + word}
  %{name} = getelementptr i64, ptr %pool, i64 %{name}_place"""


# -- pieces ------------------------------------------------------------------------------------------------------------

CONTEXT_HEAD = 3
"""First words of a piece's context: what it refuses, a further address for the callee, bytes of working memory for each
thread.  For each array follow its address, the bytes from state to state, and those from number to number; then further
pointers of the callee, the last of which is the working memory."""
REFUSE_NOT_FINITE, REFUSE_NOT_UNIT = 1, 2
_CHUNK_NUMBERS, _LARGEST_CHUNK = 2048, 256


def chunk(arguments: Sequence[ArrayArgument]) -> int:
    """States that are checked and computed at a time: their inputs stay in the nearest cache."""
    numbers = sum(a.size for a in arguments if not a.output)
    return max(8, min(_LARGEST_CHUNK, _CHUNK_NUMBERS // max(numbers, 1) // 8 * 8))


def piece_function(arguments: Sequence[ArrayArgument], callee: str, *, further: bool = False, extra: int = 0) -> str:
    """``@piece``: inputs of any strides are brought together and checked, a few states at a time, then computed with.

    Args:
        callee: ``void callee(i64 begin, i64 end, pointers, …)``.
        further: the callee takes the context's further address last.
        extra: number of further pointers that the callee takes.
    """
    size = chunk(arguments)
    lines = ["define i64 @piece(i64 %begin, i64 %end, i64 %thread, ptr %context) nounwind {", "entry:"]
    lines += [f"  %b{k} = alloca [{max(size * a.size, 1)} x double], align 64" for k, a in enumerate(arguments)
              if not a.output]  # fmt: skip
    words, passed = _context_words(len(arguments), extra, further)
    lines += [
        *words,
        f"  %finite_bit = and i64 %refuse, {REFUSE_NOT_FINITE}",
        "  %finite = icmp ne i64 %finite_bit, 0",
        f"  %unit_bit = and i64 %refuse, {REFUSE_NOT_UNIT}",
        "  %unit = icmp ne i64 %unit_bit, 0",
        "  br label %test",
        "test:",
        "  %i = phi i64 [ %begin, %entry ], [ %until, %fine ]",
        "  %more = icmp slt i64 %i, %end",
        "  br i1 %more, label %chunk, label %done",
        "chunk:",
        f"  %i_next = add i64 %i, {size}",
        "  %whole = icmp slt i64 %i_next, %end",
        "  %until = select i1 %whole, i64 %i_next, i64 %end",
        "  %n = sub i64 %until, %i",
    ]
    pointers = []
    for k, a in enumerate(arguments):
        lines.append(f"  %o{k} = mul i64 %i, %row{k}")
        lines.append(f"  %s{k} = getelementptr i8, ptr %data{k}, i64 %o{k}")
        if not a.output:
            lines.append(
                f"  %p{k} = call ptr @gather(ptr %s{k}, i64 %row{k}, i64 %column{k}, i64 %n, i64 {a.size}, ptr %b{k})"
            )
        pointers.append(f"ptr %{'s' if a.output else 'p'}{k}")
    lines += [
        *_finite_check(arguments),
        *_unit_check(arguments),
        "  br label %fine",
        "fine:",
        f"  call void @{callee}(i64 0, i64 %n, {', '.join([*pointers, *passed])})",
        "  br label %test",
        "refused:",
        "  ret i64 %i",
        "done:",
        "  ret i64 -1",
        "}",
        _GATHER,
        zero_times_sum("zero_times_batch"),
    ]
    return "\n".join([*lines, _unit_quaternions()] if any(a.quaternions for a in arguments) else lines)


def _context_words(count: int, extra: int, further: bool) -> tuple[list[str], list[str]]:
    """Lines that load the context, and the callee's arguments beside the arrays of this chunk."""
    lines = []

    def word(name: str, number: int, kind: str = "i64") -> None:
        lines.append(f"  %{name}_at = getelementptr i64, ptr %context, i64 {number}")
        lines.append(f"  %{name} = load {kind}, ptr %{name}_at")

    word("refuse", 0)
    word("further", 1, "ptr")
    word("room", 2)
    for k in range(count):
        word(f"data{k}", CONTEXT_HEAD + 3 * k, "ptr")
        word(f"row{k}", CONTEXT_HEAD + 3 * k + 1)
        word(f"column{k}", CONTEXT_HEAD + 3 * k + 2)
    for k in range(extra):
        word(f"shared{k}", CONTEXT_HEAD + 3 * count + k, "ptr")
    passed = [f"ptr %shared{k}" for k in range(extra)]
    if extra:
        lines += [
            "  %skip = mul i64 %thread, %room",
            f"  %workspace = getelementptr i8, ptr %shared{extra - 1}, i64 %skip",
        ]
        passed[-1] = "ptr %workspace"
    return lines, [*passed, "ptr %further"] if further else passed


def _finite_check(arguments: Sequence[ArrayArgument]) -> list[str]:
    lines = ["  br i1 %finite, label %look, label %looked", "look:"]
    total = "0.0"
    for k, a in enumerate(arguments):
        if not a.output:
            lines.append(f"  %count{k} = mul i64 %n, {a.size}")
            lines.append(f"  %f{k} = call double @zero_times_batch(ptr %p{k}, i64 %count{k})")
            lines.append(f"  %g{k} = fadd double %f{k}, {total}")
            total = f"%g{k}"
    lines.append(f"  %numbers = fcmp oeq double {total}, 0.0")
    return [*lines, "  br i1 %numbers, label %looked, label %refused", "looked:"]


def _unit_check(arguments: Sequence[ArrayArgument]) -> list[str]:
    lines = []
    starts = [(k, a.size, start) for k, a in enumerate(arguments) for start in a.quaternions]
    for number, (k, width, start) in enumerate(starts):
        lines += [
            f"  br i1 %unit, label %unit{number}, label %next{number}",
            f"unit{number}:",
            f"  %q{number} = getelementptr double, ptr %p{k}, i64 {start}",
            f"  %u{number} = call i1 @unit_quaternions(ptr %q{number}, i64 %n, i64 {width})",
            f"  br i1 %u{number}, label %next{number}, label %refused",
            f"next{number}:",
        ]
    return lines


_GATHER = """\
define internal ptr @gather(ptr %from, i64 %row, i64 %column, i64 %n, i64 %size, ptr %to) nounwind noinline {
entry:
  %width = shl i64 %size, 3
  %rows = icmp eq i64 %row, %width
  %columns = icmp eq i64 %column, 8
  %as_it_is = and i1 %rows, %columns
  br i1 %as_it_is, label %same, label %copy
same:
  ret ptr %from
copy:
  %by_rows = icmp slt i64 %column, %row
  %n_out = select i1 %by_rows, i64 %n, i64 %size
  %n_in = select i1 %by_rows, i64 %size, i64 %n
  %from_out = select i1 %by_rows, i64 %row, i64 %column
  %from_in = select i1 %by_rows, i64 %column, i64 %row
  %to_out = select i1 %by_rows, i64 %width, i64 8
  %to_in = select i1 %by_rows, i64 8, i64 %width
  br label %outer
outer:
  %i = phi i64 [ 0, %copy ], [ %i_next, %outer_next ]
  %a = phi ptr [ %from, %copy ], [ %a_next, %outer_next ]
  %b = phi ptr [ %to, %copy ], [ %b_next, %outer_next ]
  %i_more = icmp slt i64 %i, %n_out
  br i1 %i_more, label %inner, label %done
inner:
  %j = phi i64 [ 0, %outer ], [ %j_next, %one ]
  %c = phi ptr [ %a, %outer ], [ %c_next, %one ]
  %d = phi ptr [ %b, %outer ], [ %d_next, %one ]
  %j_more = icmp slt i64 %j, %n_in
  br i1 %j_more, label %one, label %outer_next
one:
  %x = load double, ptr %c, align 8
  store double %x, ptr %d, align 8
  %c_next = getelementptr i8, ptr %c, i64 %from_in
  %d_next = getelementptr i8, ptr %d, i64 %to_in
  %j_next = add i64 %j, 1
  br label %inner
outer_next:
  %a_next = getelementptr i8, ptr %a, i64 %from_out
  %b_next = getelementptr i8, ptr %b, i64 %to_out
  %i_next = add i64 %i, 1
  br label %outer
done:
  ret ptr %to
}"""


def _unit_quaternions() -> str:
    """``i1 @unit_quaternions(ptr q, i64 n, i64 size)``: n quaternions, ``size`` numbers apart, have unit length."""
    body = Emitter(prefix="x")
    unit = unit_length(body.put, "%p")
    checked = "\n".join(body.lines)
    return f"""\
define internal i1 @unit_quaternions(ptr %q, i64 %n, i64 %size) nounwind noinline {{
entry:
  br label %test
test:
  %i = phi i64 [ 0, %entry ], [ %i_next, %one ]
  %p = phi ptr [ %q, %entry ], [ %p_next, %one ]
  %fine = phi i1 [ true, %entry ], [ %both, %one ]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %one, label %done
one:
{checked}
  %both = and i1 %fine, {unit}
  %p_next = getelementptr double, ptr %p, i64 %size
  %i_next = add i64 %i, 1
  br label %test
done:
  ret i1 %fine
}}"""
