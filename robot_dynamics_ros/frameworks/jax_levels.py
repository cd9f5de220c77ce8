"""Loops over a robot's tree as scans over its levels: all bodies at one distance from the root at
once.

The algorithms recorded as loops (:mod:`robot_dynamics_ros.dynamics.engine.loops`) are run by
:func:`jax.lax.scan`, so what XLA compiles does not grow with the number of bodies, and the steps
are as many as the tree is deep.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from numpy.typing import DTypeLike

from robot_dynamics_ros.dynamics.engine.codegen import loop_program as ir
from robot_dynamics_ros.dynamics.engine.codegen.graph import Expr, Key, evaluate, reachable
from robot_dynamics_ros.dynamics.engine.loops import record_loops
from robot_dynamics_ros.dynamics.engine.registry import Options
from robot_dynamics_ros.model.robot_model import RobotModel

PARENT = 0
Q = 1
V = 2
CLASS = 3
ROW = 5

GROUP = 16
"""Results that are joined by one selection: each operand costs one more comparison for each result.
"""


def run_on_arrays(
    outputs: Sequence[Expr],
    leaf: Callable[[Key], Any],
    dtype: DTypeLike,
) -> list[Array]:
    """Traced expressions on arrays of one type, broadcast against constants; ``leaf``: the value of
    a leaf's key.
    """
    return evaluate(outputs, leaf, jnp, lambda value: np.asarray(value, dtype)[()])


def join(values: Sequence[Array], batch: tuple[int, ...], dtype: DTypeLike) -> Array:
    """Arrays of shape ``batch`` side by side: shape (\\*batch, number of values).

    By selection, element by element, rather than by concatenation: XLA on a processor makes one
    loop of the former; it evaluates the operands of the latter apart from each other, with all that
    they share once more.
    """
    if not values:
        return jnp.zeros((*batch, 0), dtype)
    parts = []
    for start in range(0, len(values), GROUP):
        group = values[start : start + GROUP]
        shape = (*batch, len(group))
        place = lax.broadcasted_iota(np.int32, shape, len(batch))
        joined = jnp.zeros(shape, dtype)
        for k, value in enumerate(group):
            joined = jnp.where(place == k, jnp.asarray(value, dtype)[..., None], joined)
        # the product keeps XLA from looking through the groups
        if len(values) > GROUP:
            joined = jnp.matmul(
                joined, np.eye(len(group), dtype=dtype), precision=lax.Precision.HIGHEST
            )
        parts.append(joined)
    if len(parts) == 1:
        return parts[0]
    return jnp.concatenate(parts, axis=-1)


class _Levels:
    """Bodies by their distance from the root, filled up to one width with copies of a level's first
    body.

    Attributes:
        body: (levels, width) body at each slot.
        real: (levels, width) whether it is no copy.
        slot_of_parent: (levels, width) the slot of each body's parent, one level up.
        level, slot: (n) where each body is.
    """

    def __init__(self, parents: Sequence[int], root: int) -> None:
        depth: list[int] = []
        for parent in parents:
            depth.append(0 if parent == root else depth[parent] + 1)
        self.level = np.array(depth)
        self.slot = np.zeros(len(depth), dtype=int)
        members = [np.flatnonzero(self.level == d) for d in range(max(depth) + 1)]
        for level in members:
            self.slot[level] = np.arange(len(level))
        self.width = max(map(len, members))
        self.body = np.array(
            [[*level, *[level[0]] * (self.width - len(level))] for level in members]
        )
        self.real = np.arange(self.width) < np.array([[len(level)] for level in members])
        above = np.array(parents)[self.body]
        self.slot_of_parent = np.where(
            above == root, 0, self.slot[np.minimum(above, len(depth) - 1)]
        )

    @property
    def gathers(self) -> np.ndarray:
        """(levels, width, width): entry [d, p, c] is 1 where the body in slot c hands on to slot p
        above.
        """
        to = self.slot_of_parent[:, None, :] == np.arange(self.width)[:, None]
        return (to & self.real[:, None, :]).astype(float)


def levels_function(
    model: RobotModel,
    name: str,
    options: Options,
) -> Callable[..., list[Array]]:
    """A function of arrays (\\*batch, size), an input each, of one batch, that returns a list of
    such arrays.
    """
    shapes, program = record_loops(model, name, options, alike=True)
    levels = _Levels(program.ints[:, PARENT].tolist(), program.root)
    sizes = [int(np.prod(shape)) for _, shape in shapes.outputs]

    def function(*inputs: Array) -> list[Array]:
        run = _LevelRun(program, levels, inputs, sizes)
        for section in program.sections:
            if isinstance(section, ir.BodyLoop):
                run.bodies(section)
            elif isinstance(section, ir.DegreeLoop):
                run.degrees(section)
            elif isinstance(section, ir.Block):
                run.straight(section)
            else:
                raise NotImplementedError("linear algebra")
        return run.arguments[len(inputs) :]

    return function


class _LevelRun:
    """One run of a program, on tracers or arrays.

    Attributes:
        arguments: inputs, then outputs, (\\*batch, size) each.
        records: working memory by entry, (\\*batch, n) each.
        root: that of the root, (\\*batch) each.
    """

    def __init__(
        self,
        program: ir.LoopProgram,
        levels: _Levels,
        inputs: Sequence[Array],
        sizes: Sequence[int],
    ) -> None:
        self.program = program
        self.levels = levels
        self.dtype = inputs[0].dtype
        self.batch = tuple(inputs[0].shape[:-1])
        self.arguments = [*inputs, *(jnp.zeros((*self.batch, size), self.dtype) for size in sizes)]
        self.records: dict[int, Array] = {}
        self.root: dict[int, Array] = {}

    def memory(self, entries: Sequence[int], rows: np.ndarray) -> Array:
        """(levels, \\*batch, width, entries) of bodies, by number (levels, width); the root comes
        after the last one.
        """
        zero = jnp.zeros(self.batch, self.dtype)
        bodies = jnp.stack([self.records[k] for k in entries], axis=-1)
        root = jnp.stack([self.root.get(k, zero) for k in entries], axis=-1)
        return jnp.moveaxis(
            jnp.concatenate([bodies, root[..., None, :]], axis=-2)[..., rows, :], -3, 0
        )

    def straight(self, block: ir.Block) -> None:
        """A block for the root."""
        values = run_on_arrays(
            [s.value for s in block.stores], lambda key: self.root[key[0][1]], self.dtype
        )
        for store, value in zip(block.stores, values, strict=True):
            kind, k, owner = store.location
            if kind != "record" or owner != "root":
                raise NotImplementedError(store.location)
            self.root[k] = jnp.broadcast_to(jnp.asarray(value, self.dtype), self.batch)

    def degrees(self, section: ir.DegreeLoop) -> None:
        """A loop over degrees of freedom, all at once."""
        armature = jnp.asarray(self.program.armature, self.dtype)

        def leaf(key: Key) -> Array:
            if key[0][0] == "armature":
                return armature
            return self.arguments[key[0][1]]

        stores = section.block.stores
        for store, value in zip(
            stores, run_on_arrays([s.value for s in stores], leaf, self.dtype), strict=True
        ):
            self.arguments[store.location[1]] = value

    def bodies(self, section: ir.BodyLoop) -> None:
        """One pass over the bodies: a scan for each stretch of levels with free joints, and for
        each without.
        """
        loop = _Loop(self, section)
        carry = loop.start()
        results: list[Array] = []
        for kinds, level_numbers in loop.stretches()[:: -1 if section.inward else 1]:
            read = loop.gather(level_numbers)
            if len(level_numbers) == 1:
                carry, result = loop.step(kinds, carry, {k: x[0] for k, x in read.items()})
                result = result[None]
            else:
                carry, result = lax.scan(
                    functools.partial(loop.step, kinds), carry, read, reverse=section.inward
                )
            results.append(result)
        loop.keep(jnp.concatenate(results[:: -1 if section.inward else 1], axis=0), carry)


class _Loop:
    """A pass over the bodies: what it reads, hands on and writes.

    Attributes:
        carried: entries that a step hands to the next one: outward those of the parent, inward sums
            for the parent.
        written: locations of the body at hand that get values, in the order of a step's result.
        loaded: locations that a step reads, beside what is handed to it.
    """

    def __init__(self, run: _LevelRun, section: ir.BodyLoop) -> None:
        self.run = run
        self.inward = section.inward
        if any(block.loops for block in section.blocks.values()):
            raise NotImplementedError("loops over ancestors")
        self.stores = {c: block.stores for c, block in section.blocks.items()}
        every = [store for store in itertools.chain.from_iterable(self.stores.values())]
        loaded = dict.fromkeys(
            x.a[0] for x in reachable([s.value for s in every]) if x.op == "leaf"
        )
        to_parent = {
            s.location: None for s in every if s.location[0] == "record" and s.location[2] == "p"
        }
        written = {s.location: None for s in every if s.location not in to_parent}
        if self.inward:
            self.carried = [k for _, k, _ in to_parent]
            own = dict.fromkeys(("record", k, "i") for k in self.carried)
            written |= own
            loaded |= own
        else:
            self.carried = [
                x[1]
                for x in loaded
                if x[0] == "record" and x[2] == "p" and (*x[:2], "i") in written
            ]
        self.written = list(written)
        self.loaded = [
            x for x in loaded if not (x[0] == "record" and x[2] == "p" and x[1] in self.carried)
        ]

    def stretches(self) -> list[tuple[tuple[int, ...], np.ndarray]]:
        """(classes of bodies, levels) of each stretch, from the root outward."""
        run = self.run
        classes = run.program.ints[run.levels.body, CLASS]
        is_free = np.isin(classes, run.program.free_classes)
        stretches = []
        for _, group in groupby(range(len(classes)), key=lambda d: bool(is_free[d].any())):
            numbers = np.array(list(group))
            stretches.append((tuple(np.unique(classes[numbers]).tolist()), numbers))
        return stretches

    def start(self) -> Array:
        """Carry of the first level."""
        run = self.run
        wide = (*run.batch, run.levels.width)
        zero = jnp.zeros(wide, run.dtype)
        return join(
            [zero if self.inward else zero + run.root[k][..., None] for k in self.carried],
            wide,
            run.dtype,
        )

    def gather(self, level_numbers: np.ndarray) -> dict[str, Array]:
        """All that some levels read: arrays (levels, ...); :attr:`places` tells where in it the
        entries of records are.
        """
        levels = self.run.levels
        run = self.run
        ints = run.program.ints
        program = run.program
        body = levels.body[level_numbers]
        above = np.minimum(ints[body, PARENT], program.n)
        read: dict[str, Array] = {
            "parameters": jnp.asarray(program.params.T[body], run.dtype),
            "class": ints[body, CLASS],
        }
        if self.inward:
            read["hands_on"] = jnp.asarray(levels.gathers[level_numbers], run.dtype)
        else:
            read["slot"] = levels.slot_of_parent[level_numbers]
        self.places: dict[ir.Location, tuple[str, int]] = {}
        for who, rows in (("i", body), ("p", above)):
            entries = [
                x[1]
                for x in self.loaded
                if x[0] == "record" and x[2] == who and x[1] in run.records
            ]
            if entries:
                read[who] = run.memory(entries, rows)
            self.places |= {("record", k, who): (who, c) for c, k in enumerate(entries)}

        def take(source: Array, index: np.ndarray) -> Array:
            # (levels, *batch, width)
            return jnp.moveaxis(source[..., index], -2, 0)

        for location in self.loaded:
            kind = location[0]
            if kind == "arg":
                _, number, which, c, _ = location
                first = ints[body, Q if which == "q" else V]
                last = run.arguments[number].shape[-1] - 1
                read[f"{location}"] = take(run.arguments[number], np.minimum(first + c, last))
            elif kind == "armature":
                of_degree = np.minimum(ints[body, V] + location[1], program.nv - 1)
                read[f"{location}"] = jnp.asarray(program.armature[of_degree], run.dtype)
            elif kind == "row":
                _, number, c = location
                read[f"{location}"] = take(
                    run.arguments[number], 6 * np.maximum(ints[body, ROW], 0) + c
                )
            elif kind not in ("record", "param"):
                raise NotImplementedError(location)
        return read

    def step(
        self,
        kinds: tuple[int, ...],
        carry: Array,
        here: dict[str, Array],
    ) -> tuple[Array, Array]:
        """One level: the next carry, and what is written, (\\*batch, width, entries)."""
        run = self.run
        wide = (*run.batch, run.levels.width)
        if not self.inward:
            if run.levels.width > 1:
                carry = carry[..., here["slot"], :]
            else:
                carry = carry
        number = {k: c for c, k in enumerate(self.carried)}
        zero = np.zeros((), run.dtype)

        def leaf(key: Key) -> Array:
            location = key[0]
            if location[0] == "param":
                return here["parameters"][..., location[1]]
            if location[0] != "record":
                return here[f"{location}"]
            _, k, owner = location
            if k in number and owner == "p":
                if self.inward:
                    return zero
                return carry[..., number[k]]
            place = self.places.get(location)
            if place is None:
                value = zero
            else:
                value = here[place[0]][..., place[1]]
            if self.inward and k in number:
                return value + carry[..., number[k]]
            return value

        results: dict[ir.Location, Array] = {}
        for c in kinds:
            stores = self.stores[c]
            values = run_on_arrays([s.value for s in stores], leaf, run.dtype)
            for store, value in zip(stores, values, strict=True):
                if len(kinds) > 1:
                    value = jnp.where(here["class"] == c, value, results.get(store.location, 0.0))
                results[store.location] = value

        def all_of(locations: list[ir.Location]) -> Array:
            values = [jnp.broadcast_to(results.get(x, zero), wide) for x in locations]
            return join(values, wide, run.dtype)

        if self.inward:
            for k in self.carried:
                results.setdefault(("record", k, "i"), leaf((("record", k, "i"), None)))
            handed = all_of([("record", k, "p") for k in self.carried])
            if run.levels.width > 1:
                handed = jnp.einsum(
                    "pc,...ck->...pk", here["hands_on"], handed, precision=lax.Precision.HIGHEST
                )
            return handed, all_of(self.written)
        written = all_of(self.written)
        columns = [self.written.index(("record", k, "i")) for k in self.carried]
        return written[..., np.array(columns, dtype=int)], written

    def keep(self, written: Array, carry: Array) -> None:
        """Store what all levels wrote, (levels, \\*batch, width, entries), and what the first one
        hands to the root.
        """
        levels = self.run.levels
        run = self.run
        ints = run.program.ints
        # (*batch, n, entries)
        by_body = jnp.moveaxis(written, 0, -3)[..., levels.level, levels.slot, :]
        if self.inward:
            for c, k in enumerate(self.carried):
                run.root[k] = run.root.get(k, jnp.zeros(run.batch, run.dtype)) + carry[..., 0, c]
        for c, location in enumerate(self.written):
            if location[0] == "record":
                run.records[location[1]] = by_body[..., c]
                continue
            number = location[1]
            classes = [
                k
                for k, stores in self.stores.items()
                if any(s.location == location for s in stores)
            ]
            bodies = np.flatnonzero(np.isin(ints[:, CLASS], classes))
            if location[0] == "row":
                index = 6 * ints[bodies, ROW] + location[2]
            else:
                index = ints[bodies, V] + location[3]
            run.arguments[number] = (
                run.arguments[number].at[..., index].set(by_body[..., bodies, c])
            )
