"""Loops over a robot's tree as scans over its levels: all bodies at one distance from the root at once.

The algorithms recorded as loops (:mod:`robot_dynamics_ros.dynamics.engine.loops`) are run by :func:`jax.lax.scan`, so what
XLA compiles does not grow with the number of bodies, and the steps are as many as the tree is deep.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from itertools import groupby

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from robot_dynamics_ros.dynamics.engine.codegen import loop_program as ir
from robot_dynamics_ros.dynamics.engine.codegen.graph import Key, reachable
from robot_dynamics_ros.dynamics.engine.loops import record_loops
from robot_dynamics_ros.dynamics.engine.registry import Options
from robot_dynamics_ros.frameworks.jax_scalars import join, run_on_arrays
from robot_dynamics_ros.model.robot_model import RobotModel

PARENT, Q, V, CLASS, ROW = 0, 1, 2, 3, 5


class _Levels:
    """Bodies by their distance from the root, filled up to one width with copies of a level's first body.

    Attributes:
        body: (levels, width) body at each slot.
        real: (levels, width) whether it is no copy.
        slot_of_parent: (levels, width) the slot of each body's parent, one level up.
        level, slot: (n) where each body is.
    """

    def __init__(self, parents: Sequence[int], root: int) -> None:
        n = len(parents)
        self.level = np.zeros(n, dtype=int)
        self.slot = np.zeros(n, dtype=int)
        members: list[list[int]] = []
        for i, parent in enumerate(parents):
            d = 0 if parent == root else int(self.level[parent]) + 1
            if d == len(members):
                members.append([])
            self.level[i], self.slot[i] = d, len(members[d])
            members[d].append(i)
        self.width = max(len(level) for level in members)
        self.body = np.array([[*level, *[level[0]] * (self.width - len(level))] for level in members])
        self.real = np.array([[k < len(level) for k in range(self.width)] for level in members])
        self.slot_of_parent = np.array(
            [[0 if parents[i] == root else self.slot[parents[i]] for i in row] for row in self.body]
        )

    @property
    def gathers(self) -> np.ndarray:
        """(levels, width, width): entry [d, p, c] is 1 where the body in slot c hands on to slot p above."""
        to = self.slot_of_parent[:, None, :] == np.arange(self.width)[:, None]
        return (to & self.real[:, None, :]).astype(float)


def levels_function(model: RobotModel, name: str, options: Options) -> Callable[..., list[Array]]:
    """A function of arrays (\\*batch, size), an input each, of one batch, that returns a list of such arrays."""
    shapes, program = record_loops(model, name, options, alike=True)
    levels = _Levels(program.ints[:, PARENT].tolist(), program.root)
    sizes = [int(np.prod(shape)) for _, shape in shapes.outputs]

    def function(*inputs: Array) -> list[Array]:
        run = _Run(program, levels, inputs, sizes)
        for section in program.sections:
            if isinstance(section, ir.BodyLoop):
                run.bodies(section)
            elif isinstance(section, ir.DegreeLoop):
                run.degrees(section)
            elif isinstance(section, ir.Block):
                run.straight(section)
            else:
                raise NotImplementedError("linear algebra")
        return run.outputs()

    return function


class _Run:
    """One run of a program, on tracers or arrays.

    Working memory is kept as *banks*: arrays (\\*batch, n + 1, entries) with the root last, one for each loop that wrote
    some; ``bank_of`` tells where the newest value of an entry is.
    """

    def __init__(self, program: ir.LoopProgram, levels: _Levels, inputs: Sequence[Array], sizes: Sequence[int]) -> None:
        self.program, self.levels = program, levels
        self.inputs = list(inputs)
        self.dtype = self.inputs[0].dtype
        self.batch = tuple(self.inputs[0].shape[:-1])
        self.n, self.first_output = program.n, len(self.inputs)
        self.arguments = [*self.inputs, *(jnp.zeros((*self.batch, size), self.dtype) for size in sizes)]
        self.banks: list[Array] = []
        self.bank_of: dict[int, tuple[int, int]] = {}
        self.root: dict[int, Array] = {}

    def outputs(self) -> list[Array]:
        return self.arguments[self.first_output :]

    # -- sections ----------------------------------------------------------------------------------------------------

    def straight(self, block: ir.Block) -> None:
        values = run_on_arrays([s.value for s in block.stores], lambda key: self.root[key[0][1]], self.dtype)
        for store, value in zip(block.stores, values, strict=True):
            kind, k, owner = store.location
            if kind != "record" or owner != "root":
                raise NotImplementedError(store.location)
            self.root[k] = jnp.broadcast_to(jnp.asarray(value, self.dtype), self.batch)

    def degrees(self, section: ir.DegreeLoop) -> None:
        def leaf(key: Key) -> Array:
            location = key[0]
            return (
                jnp.asarray(self.program.armature, self.dtype)
                if location[0] == "armature"
                else self.arguments[location[1]]
            )

        stores = section.block.stores
        for store, value in zip(stores, run_on_arrays([s.value for s in stores], leaf, self.dtype), strict=True):
            self.arguments[store.location[1]] = value

    def bodies(self, section: ir.BodyLoop) -> None:
        """One pass over the bodies: a scan for each stretch of levels with free joints, and for each without."""
        loop = _Loop(self, section)
        stretches = loop.stretches()
        if section.inward:
            stretches.reverse()
        carry = loop.start()
        written_from: dict[int, Array] = {}
        for kinds, numbers in stretches:
            level_numbers = np.array(numbers)
            read = loop.gather(level_numbers)
            if len(level_numbers) == 1:
                carry, result = loop.step(kinds, carry, {k: x[0] for k, x in read.items()})
                result = result[None]
            else:
                step = functools.partial(loop.step, kinds)
                carry, result = lax.scan(step, carry, read, reverse=section.inward)
            written_from[numbers[0]] = result
        ordered = jnp.concatenate(
            [written_from[d] for d in sorted(written_from)], axis=0
        )  # (levels, *batch, width, entries)
        loop.keep(ordered, carry)


class _Loop:
    """A pass over the bodies: what it reads, hands on and writes.

    Attributes:
        carried: entries that a step hands to the next one: outward those of the parent, inward sums for the parent.
        written: locations of the body at hand that get values, in the order of a step's result.
    """

    def __init__(self, run: _Run, section: ir.BodyLoop) -> None:
        self.run, self.inward = run, section.inward
        self.blocks = section.blocks
        self.stores: dict[int, list[ir.Store]] = {}
        written: dict[ir.Location, None] = {}
        loaded: dict[ir.Location, None] = {}
        summed: dict[int, None] = {}
        for c, block in section.blocks.items():
            if block.loops:
                raise NotImplementedError("loops over ancestors")
            self.stores[c] = block.stores
            for node in reachable([s.value for s in block.stores]):
                if node.op == "leaf":
                    loaded[node.a[0]] = None
            for store in block.stores:
                if store.location[0] == "record" and store.location[2] == "p":
                    summed[store.location[1]] = None
                else:
                    written[store.location] = None
        own = {k[1] for k in written if k[0] == "record"}
        if self.inward:
            self.carried = list(summed)
            for k in self.carried:
                written[("record", k, "i")] = None
        else:
            self.carried = [k[1] for k in loaded if k[0] == "record" and k[2] == "p" and k[1] in own]
        self.written = list(written)
        self.loaded = [
            k
            for k in loaded
            if not (k[0] == "record" and k[2] == "p" and k[1] in self.carried)
            and not (self.inward and k[0] == "record" and k[2] == "i" and k[1] in self.carried)
        ]

    def stretches(self) -> list[tuple[tuple[int, ...], list[int]]]:
        """(classes of bodies, levels) of each stretch, from the root outward."""
        run = self.run
        classes = run.program.ints[run.levels.body, CLASS]
        has_free = [not set(row).isdisjoint(run.program.free_classes) for row in classes.tolist()]
        stretches = []
        for _, group in groupby(range(len(classes)), key=lambda d: has_free[d]):
            numbers = list(group)
            stretches.append((tuple(sorted(set(classes[numbers].ravel().tolist()))), numbers))
        return stretches

    def start(self) -> Array:
        """Carry of the first level."""
        run = self.run
        wide = (*run.batch, run.levels.width)
        zero = jnp.zeros(wide, run.dtype)
        if self.inward:
            return join([zero] * len(self.carried), wide, run.dtype)
        return join([zero + run.root[k][..., None] for k in self.carried], wide, run.dtype)

    def gather(self, level_numbers: np.ndarray) -> dict[str, Array]:
        """All that some levels read: arrays (levels, ...)."""
        run, levels = self.run, self.run.levels
        ints, program = run.program.ints, run.program
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

        def take(source: Array, index: np.ndarray) -> Array:
            return jnp.moveaxis(source[..., index], -2, 0)  # (levels, *batch, width)

        memory: dict[tuple[int, str], list[tuple[ir.Location, int]]] = {}
        own = {("record", k, "i") for k in self.carried} if self.inward else set()
        for location in [*self.loaded, *own]:
            kind = location[0]
            if kind == "record":
                if location[1] in run.bank_of:
                    bank, column = run.bank_of[location[1]]
                    memory.setdefault((bank, location[2]), []).append((location, column))
            elif kind == "arg":
                _, number, which, c, _ = location
                first = ints[body, Q if which == "q" else V]
                last = run.arguments[number].shape[-1] - 1
                read[f"{location}"] = take(run.arguments[number], np.minimum(first + c, last))
            elif kind == "armature":
                read[f"{location}"] = jnp.asarray(
                    program.armature[np.minimum(ints[body, V] + location[1], program.nv - 1)], run.dtype
                )
            elif kind == "row":
                _, number, c = location
                read[f"{location}"] = take(run.arguments[number], 6 * np.maximum(ints[body, ROW], 0) + c)
            elif kind != "param":
                raise NotImplementedError(location)
        for (bank, owner), columns_of in memory.items():
            rows = run.banks[bank][..., body if owner == "i" else above, :]  # (*batch, levels, width, entries)
            columns = np.array([column for _, column in columns_of])
            word = f"bank {bank} {owner}"
            read[word] = jnp.moveaxis(rows[..., columns], -3, 0)
            for k, (location, _) in enumerate(columns_of):
                self.places[location] = (word, k)
        return read

    def step(self, kinds: tuple[int, ...], carry: Array, here: dict[str, Array]) -> tuple[Array, Array]:
        """One level: the next carry, and what is written, (\\*batch, width, entries)."""
        run = self.run
        wide = (*run.batch, run.levels.width)
        if not self.inward:
            carry = carry[..., here["slot"], :] if run.levels.width > 1 else carry
        number = {k: c for c, k in enumerate(self.carried)}

        def in_memory(location: ir.Location) -> Array:
            place = self.places.get(location)
            return np.zeros((), run.dtype) if place is None else here[place[0]][..., place[1]]

        def leaf(key: Key) -> Array:
            location = key[0]
            if location[0] == "param":
                return here["parameters"][..., location[1]]
            if location[0] != "record":
                return here[f"{location}"]
            _, k, owner = location
            if k in number and owner == "p":
                return np.zeros((), run.dtype) if self.inward else carry[..., number[k]]
            if k in number and self.inward:
                return in_memory(location) + carry[..., number[k]]
            return in_memory(location)

        results: dict[ir.Location, Array] = {}
        for c in kinds:
            stores = self.stores[c]
            values = run_on_arrays([s.value for s in stores], leaf, run.dtype)
            for store, value in zip(stores, values, strict=True):
                if len(kinds) > 1:
                    value = jnp.where(here["class"] == c, value, results.get(store.location, 0.0))
                results[store.location] = value
        if self.inward:
            for k in self.carried:
                location = ("record", k, "i")
                results.setdefault(location, leaf((location, None)))
        zero = np.zeros((), run.dtype)

        def all_of(locations: list[ir.Location]) -> Array:
            values = [jnp.broadcast_to(results.get(x, zero), wide) for x in locations]
            return join(values, wide, run.dtype)

        if self.inward:
            handed = all_of([("record", k, "p") for k in self.carried])
            if run.levels.width > 1:
                handed = jnp.einsum("pc,...ck->...pk", here["hands_on"], handed, precision=lax.Precision.HIGHEST)
            return handed, all_of(self.written)
        written = all_of(self.written)
        where = {x: k for k, x in enumerate(self.written)}
        next_carry = written[..., np.array([where[("record", k, "i")] for k in self.carried], dtype=int)]
        return next_carry, written

    def keep(self, written: Array, carry: Array) -> None:
        """Store what all levels wrote: (levels, \\*batch, width, entries)."""
        run, levels = self.run, self.run.levels
        ints = run.program.ints
        by_body = jnp.moveaxis(written, 0, -3)[..., levels.level, levels.slot, :]  # (*batch, n, entries)
        records = [(c, x[1]) for c, x in enumerate(self.written) if x[0] == "record"]
        zero = jnp.zeros(run.batch, run.dtype)
        if self.inward:
            for c, k in enumerate(self.carried):
                run.root[k] = run.root.get(k, zero) + carry[..., 0, c]
        if records:
            columns = np.array([c for c, _ in records])
            root = jnp.stack([run.root.get(k, zero) for _, k in records], axis=-1)
            run.banks.append(jnp.concatenate([by_body[..., columns], root[..., None, :]], axis=-2))
            for column, (_, k) in enumerate(records):
                run.bank_of[k] = (len(run.banks) - 1, column)
        for c, location in enumerate(self.written):
            if location[0] == "record":
                continue
            number = location[1]
            classes = [k for k, stores in self.stores.items() if any(s.location == location for s in stores)]
            bodies = np.flatnonzero(np.isin(ints[:, CLASS], classes))
            if location[0] == "row":
                index = 6 * ints[bodies, ROW] + location[2]
            else:
                index = ints[bodies, V] + location[3]
            run.arguments[number] = run.arguments[number].at[..., index].set(by_body[..., bodies, c])
