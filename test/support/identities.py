"""Random robots and states for tests of what must hold of any robot: rotated full inertias,
branches, every joint type.
"""

from __future__ import annotations

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from support.random_trees import ALL_TYPES, random_model, random_state

seeds = st.integers(0, 10_000)
few = settings(max_examples=25)


def draw(seed: int, **options):
    options.setdefault("types", ALL_TYPES)
    model = random_model(seed, 1 + seed % 7, **options).with_backend("interpreted")
    return model, *random_state(model, seed + 1)


def scaled(x):
    return 1.0 + np.abs(x).max(initial=0.0)
