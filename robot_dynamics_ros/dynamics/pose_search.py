"""Damped least squares from one guess after the other, as a routine: what inverse kinematics runs for each pose."""

from __future__ import annotations

import math

from robot_dynamics_ros.dynamics.engine.codegen.declared import Declared, Kernel, Vector, kernel, numbers

NO_LIMIT = 1e9  # rad or m
SPREAD = math.pi  # rad or m: how far guesses go from the start where there is no limit
FIRST_DAMPING, SMALLEST, LARGEST = 1e-2, 1e-9, 1e6
PROGRESS, PATIENCE = 0.99, 10  # a guess ends that has not come nearer by a hundredth in so many steps
CLOSE = 0.1  # of the tolerances: where a guess ends
UNKNOWN = 1e300


class SearchMemory(Declared):
    """The search for one pose."""

    nq: int
    nv: int
    q: Vector = numbers("nq", unit="rad or m", meaning="nearest configuration from the guess")
    ahead: Vector = numbers("nq", unit="rad or m", meaning="where a step leads from there")
    following: Vector = numbers("nq", unit="rad or m", meaning="where the next step leads from there")
    free: Vector = numbers("nq", meaning="1 for coordinates that are looked for")
    lower: Vector = numbers("nq", unit="rad or m", meaning="position limits")
    upper: Vector = numbers("nq", unit="rad or m", meaning="position limits")
    target: Vector = numbers(12, meaning="pose of the tool, [R | p]")
    tool: Vector = numbers(12, meaning="the tool in the link's frame, [R | p]")
    weights: Vector = numbers(3, meaning="of radians, of metres, and the damping")
    squares: Vector = numbers(2, meaning="squared errors of a step's start")
    errors: Vector = numbers(2, meaning="errors of q: 2 sin(φ/2), m")
    tolerances: Vector = numbers(2, meaning="of these")
    cost: Vector = numbers(1, meaning="weighted square of the errors")
    step: Kernel = kernel("q", "target", "tool", "lower", "upper", "weights", "out q_next", "out squares")


def descend(p: SearchMemory, iterations: int) -> int:
    """Steps from ``ahead`` to the nearest configuration ``q``; returns how many were taken."""
    p.cost[0] = UNKNOWN
    p.weights[2] = FIRST_DAMPING
    slow = 0
    for k in range(iterations + 1):
        p.step(p.ahead, p.target, p.tool, p.lower, p.upper, p.weights, p.following, p.squares)
        value = p.squares[0] * p.weights[0] * p.weights[0] + p.squares[1] * p.weights[1] * p.weights[1]
        slow = 0 if value < PROGRESS * p.cost[0] else slow + 1
        better = value < p.cost[0]
        if better:
            p.cost[0] = value
            for i in range(2):
                p.errors[i] = math.sqrt(p.squares[i])
            for i in range(p.nq):
                p.q[i] = p.ahead[i]
                p.ahead[i] = p.following[i]
            p.weights[2] = max(0.2 * p.weights[2], SMALLEST)
        else:
            p.weights[2] = 10.0 * p.weights[2]
        arrived = p.errors[0] <= CLOSE * p.tolerances[0] and p.errors[1] <= CLOSE * p.tolerances[1]
        if arrived or p.weights[2] > LARGEST or slow > PATIENCE:
            return k
        if not better:  # the step went too far: from where it began, with more damping
            p.step(p.q, p.target, p.tool, p.lower, p.upper, p.weights, p.ahead, p.squares)
    return iterations


def guess(p: SearchMemory, start: float, i: int, draw: float) -> float:
    """A coordinate between its limits, or near the start where it has none; ``draw`` is from 0 to 1."""
    low = p.lower[i] if p.lower[i] > -NO_LIMIT else start - SPREAD
    high = p.upper[i] if p.upper[i] < NO_LIMIT else start + SPREAD
    return min(max(low + draw * max(high - low, 0.0), p.lower[i]), p.upper[i])


def find_configurations(
    p: SearchMemory,
    count: int,
    starts: int,
    iterations: int,
    targets: Vector,
    first: Vector,
    draws: Vector,
    q: Vector,
    errors: Vector,
) -> int:
    """The configuration of each pose from the first guess that arrives, else the nearest of all; returns the most steps taken.

    Args:
        targets, first: (count, 12) poses and (count, nq) first guesses.
        draws: (starts - 1, nq) random numbers from 0 to 1 for the other guesses.
        q, errors: (count, nq) and (count, 2) results.
    """
    most = 0
    for k in range(count):
        for i in range(12):
            p.target[i] = targets[12 * k + i]
        least = UNKNOWN
        tried = 0
        arrived = False
        while tried < starts and not arrived:
            for i in range(p.nq):
                start = first[p.nq * k + i]
                if tried > 0 and p.free[i] > 0.0:
                    p.ahead[i] = guess(p, start, i, draws[p.nq * (tried - 1) + i])
                else:
                    p.ahead[i] = start
            most = max(most, descend(p, iterations))
            arrived = p.errors[0] <= p.tolerances[0] and p.errors[1] <= p.tolerances[1]
            if arrived or p.cost[0] < least:
                least = p.cost[0]
                for i in range(p.nq):
                    q[p.nq * k + i] = p.q[i]
                for i in range(2):
                    errors[2 * k + i] = p.errors[i]
            tried += 1
    return most
