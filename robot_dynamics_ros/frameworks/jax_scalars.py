"""Traced operations in JAX: each number of a state is an array of its own, so a whole batch goes through every operation.

Results come together by selection, element by element, rather than by concatenation.  XLA on a processor makes one
loop of the former; it evaluates the operands of the latter apart from each other, with all that they share once more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from numpy.typing import DTypeLike

from robot_dynamics_ros.dynamics.engine.codegen.graph import Expr, Key, evaluate

GROUP = 16
"""Results that are joined by one selection: each operand costs one more comparison for each result."""


def run_on_arrays(outputs: Sequence[Expr], leaf: Callable[[Key], Any], dtype: DTypeLike) -> list[Array]:
    """Traced expressions on arrays of one type, broadcast against constants; ``leaf``: the value of a leaf's key."""
    return evaluate(outputs, leaf, jnp, lambda value: np.asarray(value, dtype)[()])


def join(values: Sequence[Array], batch: tuple[int, ...], dtype: DTypeLike) -> Array:
    """Arrays of shape ``batch`` side by side: shape (\\*batch, number of values)."""
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
        if len(values) > GROUP:  # the product keeps XLA from looking through the groups: see the module
            joined = jnp.matmul(joined, np.eye(len(group), dtype=dtype), precision=lax.Precision.HIGHEST)
        parts.append(joined)
    return parts[0] if len(parts) == 1 else jnp.concatenate(parts, axis=-1)
