"""LLVM code for steps of linear algebra in a loop program: M = Lᵀ D L without fill-in, and many
right-hand sides at once.

Rows of matrices in working memory are processed a vector at a time; L takes the place of M, with
zeros instead of the ones on its diagonal.  Source: Featherstone (2008), section 6.5.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from robot_dynamics_ros.dynamics.engine.codegen.llvm_source import Emitter, Writer
from robot_dynamics_ros.dynamics.engine.codegen.loop_program import Linear, LoopProgram, round_up

REGISTER_VECTORS = 8
"""Vectors of a matrix that are kept in registers."""
OF_TWO = 6
"""Vectors of right-hand sides of which two rows are kept in registers."""


def tables(program: LoopProgram) -> list[str]:
    """Each degree of freedom's next ancestor, the last one that it is an ancestor of, and the last
    one of it and the next one.
    """
    ancestors = program.ancestors
    last = list(range(program.nv))
    for k in reversed(range(program.nv)):
        if ancestors[k] >= 0:
            last[ancestors[k]] = max(last[ancestors[k]], last[k])
    last_of_two = [max(pair) for pair in zip(last, [*last[1:], 0], strict=True)]
    tables = {"ancestor": ancestors, "last": last, "last_of_two": last_of_two}
    return [
        f"@{name} = private constant [{program.nv} x i64] [{', '.join(f'i64 {x}' for x in values)}]"
        for name, values in tables.items()
    ]


class LinearWriter(Writer):
    """Writes the steps of linear algebra of a loop program; ``rows`` emits vectors that fill a
    register.
    """

    def __init__(self, program: LoopProgram, width: int) -> None:
        super().__init__()
        self.p = program
        self.n = program.nv
        self.rows = Emitter(max(2, width), "r")
        self.rows.lines = self.e.lines
        self.lanes = self.rows.width

    def row_length(self, number: int) -> int:
        """Doubles from one row of a matrix to the next."""
        if number in self.p.scratch:
            return round_up(self.p.nv)
        return self.p.nv

    def chain(
        self,
        table: str,
        first: str,
        body: Callable[[str, list[str]], list[str]],
        carried: Sequence[tuple[str, str]] = (),
    ) -> list[str]:
        """``x = table[first]; while x >= 0: …; x = table[x]``, with values that each round hands to
        the next.
        """
        head, inside, done = (self.fresh(w) for w in ("head", "link", "done"))
        start = self.table(table, first)
        before = self.label
        self.jump(head)
        self.start(head)
        x = f"%{self.fresh('x')}"
        phis = len(self.e.lines)
        names = [f"%{self.fresh('c')}" for _ in carried]
        self.e.lines += [""] * (1 + len(carried))
        self.line(f"br i1 {self.put(f'icmp sge i64 {x}, 0')}, label %{inside}, label %{done}")
        self.start(inside)
        further = body(x, names)
        up = self.table(table, x)
        phi = [
            ("i64", start, x, up),
            *((t, v, n, f) for (t, v), n, f in zip(carried, names, further, strict=True)),
        ]
        for k, (kind, value, name, new) in enumerate(phi):
            self.e.lines[phis + k] = (
                f"  {name} = phi {kind} [ {value}, %{before} ], [ {new}, %{self.label} ]"
            )
        self.jump(head)
        self.start(done)
        return names

    def row(self, array: int, k: str) -> str:
        """Address of a row."""
        return self.at(f"%p{array}", k, self.row_length(array))

    def entry(self, row: str, column: str | int) -> str:
        return self.put(f"getelementptr inbounds double, ptr {row}, i64 {column}")

    def number(self, row: str, column: str | int) -> str:
        return self.put(f"load double, ptr {self.entry(row, column)}, align 8")

    def vector(self, row: str, column: str | int) -> str:
        return self.put(f"load {self.rows.type}, ptr {self.entry(row, column)}, align 8")

    def store_at(
        self,
        value: str,
        row: str,
        column: str | int,
        *,
        scalar: bool = False,
    ) -> None:
        kind = "double" if scalar else self.rows.type
        self.line(f"store {kind} {value}, ptr {self.entry(row, column)}, align 8")

    def less_product(self, x: str, a: str, b: str) -> str:
        return self.rows.binary("sub", x, self.rows.binary("mul", a, b))

    def table(self, name: str, k: str) -> str:
        address = self.put(f"getelementptr inbounds i64, ptr @{name}, i64 {k}")
        return self.put(f"load i64, ptr {address}, align 8, !invariant.load !0")

    def factorize(self, step: Linear) -> None:
        """M = Lᵀ D L, L in the place of M, D⁻¹ in an array of its own.

        From the last row up: what each row has to lose to those below is summed up in registers.
        """
        M, D = step.arrays
        w = self
        e = self.rows
        flags = f"<{self.lanes} x i1>"

        def rows(first: int, columns: range) -> None:
            """Columns of a block of rows, as many as fill a vector, less what the rows below
            take.
            """

            def eliminate(i: str) -> None:
                row = self.row(M, i)
                start = [(e.type, self.vector(row, c)) for c in columns]

                def below(k: str, values: list[str]) -> list[str]:
                    other = self.row(M, k)
                    factor = w.put(
                        f"fmul double {self.number(other, i)}, {self.number(f'%p{D}', k)}"
                    )
                    factors = e.repeated(factor)
                    return [
                        self.less_product(x, factors, self.vector(other, c))
                        for x, c in zip(values, columns, strict=True)
                    ]

                # row i + 1 last: it was made just now
                values = w.carrying(self.table("last", i), i, -1, below, start)
                for c, value in zip(columns, values, strict=True):
                    self.store_at(value, row, c)
                if columns[-1] == first:
                    inverse = w.put(f"fdiv double 1.0, {self.number(row, i)}")
                    self.store_at(inverse, f"%p{D}", i, scalar=True)

            w.loop(str(min(first + self.lanes, self.n) - 1), str(first - 1), -1, eliminate)

        def scale(k: str) -> None:
            """Row k of L: that of D L divided by D, zero from the diagonal on."""
            row = self.row(M, k)
            inverses = e.repeated(self.number(f"%p{D}", k))

            def columns(c: str) -> None:
                value = e.binary("mul", self.vector(row, c), inverses)
                lanes = e.mask(w.put(f"sub nsw i64 {k}, {c}"))
                self.store_at(
                    e.put(f"select {flags} {lanes}, {e.type} {value}, {e.type} zeroinitializer"),
                    row,
                    c,
                )

            w.loop("0", w.put(f"add nsw i64 {k}, 1"), self.lanes, columns)

        for first in reversed(range(0, self.n, self.lanes)):
            # columns with the diagonal first: the others need what becomes of it in the rows of
            # this block
            for begin in reversed(range(0, first + 1, REGISTER_VECTORS * self.lanes)):
                rows(
                    first,
                    range(begin, min(begin + REGISTER_VECTORS * self.lanes, first + 1), self.lanes),
                )
        w.loop("0", str(self.n), 1, scale)

    def solve(self, step: Linear) -> None:
        """x ← M⁻¹ (right − x) = L⁻¹ D⁻¹ L⁻ᵀ (right − x)."""
        (L, D, x), (right,) = step.arrays, step.right
        w = self
        e = self.rows
        vector = f"%p{x}"

        def subtract(k: str) -> None:
            value = w.put(f"fsub double {self.number(f'%p{right}', k)}, {self.number(vector, k)}")
            self.store_at(value, vector, k, scalar=True)

        def upper(k: str) -> None:
            """x ← L⁻ᵀ x: entry k is known, and is subtracted from those before it."""
            row = self.row(L, k)
            of_k = e.repeated(self.number(vector, k))

            def columns(c: str) -> None:
                self.store_at(
                    self.less_product(self.vector(vector, c), self.vector(row, c), of_k), vector, c
                )

            w.loop("0", k, self.lanes, columns)

        def lower(k: str) -> None:
            """x ← L⁻¹ D⁻¹ x: entry k less the known ones before it."""
            row = self.row(L, k)

            def columns(c: str, sums: list[str]) -> list[str]:
                return [
                    e.binary(
                        "add", sums[0], e.binary("mul", self.vector(row, c), self.vector(vector, c))
                    )
                ]

            (sums,) = w.carrying("0", k, self.lanes, columns, [(e.type, "zeroinitializer")])
            value = w.put(f"fmul double {self.number(vector, k)}, {self.number(f'%p{D}', k)}")
            for lane in range(self.lanes):
                value = w.put(
                    f"fsub double {value}, {w.put(f'extractelement {e.type} {sums}, i32 {lane}')}"
                )
            self.store_at(value, vector, k, scalar=True)

        w.loop("0", str(self.n), 1, subtract)
        w.loop(str(self.n - 1), "0", -1, upper)
        w.loop("0", str(self.n), 1, lower)

    def divide(self, step: Linear) -> None:
        """−M⁻¹ of all matrices on the right but the last one, of which only zeros are given: there
        it is M⁻¹ itself.
        """
        right = step.right

        def one(k: str) -> None:
            self.store_at("1.0", self.row(right[-1], k), k, scalar=True)

        self.loop("0", str(self.n), 1, one)
        parts = [
            (s, c) for s, c in itertools.product(range(len(right)), range(0, self.n, self.lanes))
        ]
        rounds = -(-len(parts) // OF_TWO)
        size = -(-len(parts) // rounds)
        for first in range(0, len(parts), size):
            self._divide_columns(step, parts[first : first + size])

    def _load(self, addresses: list[str]) -> list[str]:
        """The rows that begin at these addresses."""
        return [self.put(f"load {self.rows.type}, ptr {a}, align 8") for a in addresses]

    def _keep(self, addresses: list[str], values: list[str]) -> None:
        """Store a row at each address."""
        for a, x in zip(addresses, values, strict=True):
            self.line(f"store {self.rows.type} {x}, ptr {a}, align 8")

    def _less_times(self, row: list[str], factor: str, other: list[str]) -> list[str]:
        """One row less the other one times a factor."""
        return [self.less_product(x, factor, y) for x, y in zip(row, other, strict=True)]

    def _divide_columns(self, step: Linear, parts: list[tuple[int, int]]) -> None:
        """:meth:`divide` for some of the vectors that each row consists of.

        Args:
            parts: right-hand side and first column of each vector.
        """
        e = self.rows
        right = step.right
        L, D, *results = step.arrays

        def of_row(k: str) -> list[str]:
            """Addresses of the vectors of row k."""
            rows = {s: self.row(right[s], k) for s in dict.fromkeys(s for s, _ in parts)}
            return [self.entry(rows[s], c) for s, c in parts]

        def less(values: list[str], factors: list[str], k: str) -> list[str]:
            """One row or two, vectors after one another, less their factors times row k."""
            splats = [e.repeated(x) for x in factors]
            result = list(values)
            for c, address in enumerate(of_row(k)):
                (y,) = self._load([address])
                for r, x in enumerate(splats):
                    place = r * len(parts) + c
                    result[place] = self.less_product(result[place], x, y)
            return result

        def upper(rows: list[str]) -> None:
            """L⁻ᵀ times the right-hand sides in one row or two: less the known rows below."""
            addresses = list(itertools.chain.from_iterable(of_row(i) for i in rows))
            start = [(e.type, x) for x in self._load(addresses)]

            def beyond(k: str, values: list[str]) -> list[str]:
                row = self.row(L, k)
                return less(values, [self.number(row, i) for i in rows], k)

            values = self.carrying(self.table("last_of_two", rows[0]), rows[-1], -1, beyond, start)
            if len(rows) > 1:
                # the first row less the second, which is known by now
                factor = e.repeated(self.number(self.row(L, rows[1]), rows[0]))
                first = values[: len(parts)]
                second = values[len(parts) :]
                values = self._less_times(first, factor, second) + second
            self._keep(addresses, values)

        def lower(rows: list[str]) -> None:
            """L⁻¹ D⁻¹ times that: less the known rows of the ancestors; the results are stored."""
            addresses = list(itertools.chain.from_iterable(of_row(k) for k in rows))
            pivots = [k for k, _ in itertools.product(rows, parts)]
            start = [(e.type, x) for x in self._times_numbers(addresses, f"%p{D}", pivots)]
            factors = [self.row(L, k) for k in rows]

            def before(i: str, values: list[str]) -> list[str]:
                return less(values, [self.number(row, i) for row in factors], i)

            values = self.chain("ancestor", rows[0], before, start)
            if len(rows) > 1:
                # the second row less the first, which is known by now
                factor = e.repeated(self.number(factors[1], rows[0]))
                first = values[: len(parts)]
                second = values[len(parts) :]
                values = first + self._less_times(second, factor, first)
            self._keep(addresses, values)
            places = [(k, s, c) for k, (s, c) in itertools.product(rows, parts)]
            self._store_results(results, places, values)

        self._in_pairs(upper, lower)

    def _times_numbers(self, addresses: list[str], numbers: str, places: list[str]) -> list[str]:
        """The values stored at addresses, each times the number at its place in an array."""
        e = self.rows
        factors = [e.repeated(self.number(numbers, k)) for k in places]
        return [e.binary("mul", x, y) for x, y in zip(self._load(addresses), factors, strict=True)]

    def _store_results(
        self,
        results: Sequence[int],
        places: list[tuple[str, int, int]],
        values: list[str],
    ) -> None:
        """Values at (row, right-hand side, column): all but the last result change their sign."""
        e = self.rows
        for (k, s, c), value in zip(places, values, strict=True):
            if s < len(results) - 1:
                value = e.put(f"fneg {e.type} {value}")
            entry = self.entry(self.row(results[s], k), c)
            if c + self.lanes <= self.n:
                self.line(f"store {e.type} {value}, ptr {entry}, align 8")
            else:
                # the last columns do not fill a vector
                lanes = ", ".join(f"i1 {int(c + x < self.n)}" for x in range(self.lanes))
                e.masked_store(value, entry, f"<{lanes}>")

    def _in_pairs(
        self,
        upper: Callable[[list[str]], None],
        lower: Callable[[list[str]], None],
    ) -> None:
        """Up through all rows and down again, two at a time; where their number is odd, the first
        one alone.
        """

        def two(rows: Callable[[list[str]], None]) -> Callable[[str], None]:
            return lambda k: rows([k, self.put(f"add nsw i64 {k}, 1")])

        odd = self.n % 2
        self.loop(str(self.n - 2), str(odd - 1), -2, two(upper))
        if odd:
            upper(["0"])
            lower(["0"])
        self.loop(str(odd), str(self.n), 2, two(lower))
