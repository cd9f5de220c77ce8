"""Calls of any function of the registry, with options and inputs made up for it."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose

import robot_dynamics_ros as rd
from robot_dynamics_ros.dynamics.engine.registry import TABLE
from robot_dynamics_ros.dynamics.engine.trace import signature
from support.random_trees import random_state

__all__ = ["agree", "inputs_for", "options_for", "results"]


def options_for(model, name):
    """Options with which a function of the registry can be called, as ``rd.kernel`` takes them."""
    link = model.link_index(model.link_names[-1])
    if "constraints" in TABLE[name].options:
        made = [rd.distance_constraint("distance", model.link_names[1], point_a=(1.0, 0.0, 0.0))]
        return {
            "constraints": rd.Constraints(
                model, made, reference=rd.random_configuration(model, 1)
            ).specs
        }
    chosen = {
        "link_pose": {"link": link},
        "jacobian": {"link": link, "frame": "world"},
        "jacobian_rate": {"link": link, "frame": "link"},
        "linearization": {"viscous": True},
        "inverse_kinematics_step": {"link": link},
    }
    return chosen.get(name, {})


def inputs_for(model, name, options, batch=(), seed=0):
    """Random inputs in the order of the registry."""
    rng = np.random.default_rng(seed)
    q, v, a = random_state(model, seed, batch)
    known = {"q": q, "v": v, "a": a, "tau": a * 3.0, "step": np.full((*batch, 1), 1e-3)}
    known["friction"] = np.broadcast_to([1.0, 0.5, 0.1], (*batch, 3))
    known["weights"] = np.broadcast_to([1.0, 2.0, 0.1], (*batch, 3))
    known["stops"] = np.broadcast_to([100.0, 0.5], (*batch, 2))
    out = []
    for word, shape in signature(model, name, tuple(sorted(options.items()))).inputs:
        out.append(
            np.ascontiguousarray(known[word])
            if word in known
            else rng.normal(size=(*batch, *shape))
        )
    return out


def results(model, name, options, inputs):
    """All outputs, as a tuple."""
    out = rd.kernel(model, name, **options)(*inputs)
    return out if isinstance(out, tuple) else (out,)


def agree(ours, reference, tolerance=1e-11):
    """Hold outputs to each other, by the size of the largest entry."""
    for x, y in zip(ours, reference, strict=True):
        assert_allclose(x, y, rtol=0, atol=tolerance * (1e-3 + np.abs(y).max(initial=0.0)))
