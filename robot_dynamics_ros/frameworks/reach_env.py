"""A Gymnasium environment: the tool of a simulated robot is to reach a place.

Needs the extra ``gymnasium``, so nothing else imports this module.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.control.controller import JointController
from robot_dynamics_ros.control.reference.task.settings import TaskSettings
from robot_dynamics_ros.control.reference.trajectory import nanoseconds
from robot_dynamics_ros.dynamics import kernel
from robot_dynamics_ros.errors import ArgumentError, SimulationError, optional_package
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.per_joint import expect

gymnasium: Any = optional_package(
    "gymnasium", "environments need", "robot_dynamics_ros.frameworks.reach_env", "gymnasium"
)
ACTIONS = ("effort", "twist")
# rad or m from the start: how far the joints are drawn that the target belongs to
TARGET_SPREAD = 0.5
# Times the velocity limit: the largest velocities of an observation; a simulated joint may be
# faster than its limit.
OBSERVED_SPEED = 10.0
# rad/s or m/s, taken for the limit of joints without one.
UNLIMITED_JOINT_SPEED = 10.0
# rad or m: positions of joints without limits
UNLIMITED_POSITION = 1e3
# m: places that an observation may have
FARTHEST_OBSERVED_M = 100.0
# share of the effort limit, squared, that costs as much as 1 m of distance
EFFORT_COST = 0.01
# m/s: a tool that is slower has arrived
ARRIVED_SPEED = 0.05
# N m or N: of joints without a limit
UNLIMITED_EFFORT = 100.0


class SteppedRobot(Protocol):
    """A simulated robot as an environment needs it: ``rd.Plant``, ``rd.MujocoPlant`` or
    ``LockstepRobot``, which a simulator node runs.

    Attributes:
        model: all its joints have one degree of freedom.
        dt: s, the time that a step takes.
    """

    model: RobotModel
    dt: float

    @property
    def t(self) -> float:
        """Time since the last reset, s."""

    @property
    def q(self) -> Array:
        """(nq,) rad and m; a copy."""

    @property
    def v(self) -> Array:
        """(nv,) rad/s and m/s; a copy."""

    @property
    def tau(self) -> Array:
        """(nv,) efforts that the motors gave in the last step, N m and N."""

    def reset(self, q: ArrayLike | None = None) -> None:
        """Rest at (nq,) a configuration; ``None``: the start."""

    def step(self, command: ArrayLike) -> None:
        """Move by ``dt`` under (nv,) efforts, N m and N."""


class ToolReachEnv(gymnasium.Env):  # type: ignore[misc]
    """The tool is to come to rest at a target, which is drawn anew at each reset.

    Observation: (2 nv + 6,) joint positions, rad and m, and velocities, rad/s and m/s; the tool's
    place and the target's in the world, m.  Action: numbers from -1 to 1, see ``actions``.  Reward:
    minus the distance in m, minus 0.01 times the mean squared share of the effort limits, for a
    second each.  An episode ends at the target, or when the simulation diverges; it is cut off
    after its time.

    Attributes:
        plant: the simulated robot.
        controller: what turns twists into efforts, or ``None`` with efforts as actions.
        target: (3,) m in the world.
    """

    # as Gymnasium declares it
    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012

    def __init__(
        self,
        plant: SteppedRobot,
        link: str = "",
        *,
        actions: str = "twist",
        period: float = 0.02,
        duration: float = 5.0,
        tolerance: float = 0.01,
    ) -> None:
        """Check the settings, and compile what is needed.

        Args:
            plant: any engine's, in this process or in a simulator node; the environment resets
                and steps it.
            link: whose origin is to be moved; ``""``: the last one of the longest chain.
            actions: "effort": (nv,) shares of the effort limits, gravity is held besides; "twist":
                (6,) shares of the tool's largest angular and linear speed, world axes, which the
                default law follows within all limits.
            period: s from action to action, a multiple of the plant's period.
            duration: s, after which an episode is cut off.
            tolerance: m, of arriving.

        Raises:
            ArgumentError: another word or number.
            UnknownNameError: the robot has no such link.
        """
        expect(actions in ACTIONS, f"one of {', '.join(ACTIONS)}", actions, "actions")
        self.cycles = round(period / plant.dt)
        whole = self.cycles >= 1 and abs(self.cycles * plant.dt - period) < 1e-9 * period
        expect(whole, f"a multiple of the plant's {plant.dt:g} s", period, "period")
        expect(duration >= period, "at least one period", duration, "duration")
        expect(tolerance > 0.0, "a positive number", tolerance, "tolerance")
        self.plant = plant
        self.model = model = plant.model
        self.period = period
        self.tolerance = tolerance
        self.steps = round(duration / period)
        self.settings = TaskSettings(link=link)
        self.link = self.settings.link_of(model)
        self.actions = actions
        self.controller: JointController | None = None
        self._largest = np.array([self.settings.speed[0]] * 3 + [self.settings.speed[1]] * 3)
        if actions == "twist":
            self._make_controller()
        else:
            self._largest = np.where(
                np.isfinite(model.effort_limit), model.effort_limit, UNLIMITED_EFFORT
            )
        bounded = np.isfinite(model.effort_limit) & (model.effort_limit > 0.0)
        # what a share of one is
        self._effort_unit = np.where(bounded, model.effort_limit, UNLIMITED_EFFORT)
        number = model.link_index(self.link)
        self._pose = kernel(model, "link_pose", link=number)
        self._jacobian = kernel(model, "jacobian", frame="world", link=number)
        self._gravity = kernel(model, "gravity_forces")
        self._start = plant.q
        self.target = np.zeros(3)
        self._taken = 0
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, self._largest.shape, np.float32)
        self.observation_space = gymnasium.spaces.Box(*self._bounds(), dtype=np.float64)

    def _make_controller(self) -> None:
        """A controller that has seen nothing yet: episodes do not depend on those before."""
        self.controller = JointController(self.model, task=self.settings)
        self.controller.want_wrenches = False

    def _bounds(self) -> tuple[Array, Array]:
        """Least and largest observations."""
        model = self.model
        far = np.full(model.nv, UNLIMITED_POSITION)
        lower = np.where(np.isfinite(model.lower), model.lower - 1.0, -far)
        upper = np.where(np.isfinite(model.upper), model.upper + 1.0, far)
        bounded = np.isfinite(model.velocity_limit) & (model.velocity_limit > 0.0)
        speed = OBSERVED_SPEED * np.where(bounded, model.velocity_limit, UNLIMITED_JOINT_SPEED)
        places = np.full(6, FARTHEST_OBSERVED_M)
        return np.concatenate([lower, -speed, -places]), np.concatenate([upper, speed, places])

    # -- Gymnasium's methods -----------------------------------------------------------------------

    def reset(
        self,
        *,
        seed: int | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Array, dict[str, Any]]:
        """The robot at its start, and a new target.

        ``options``: ``{"q": (nv,), "target": (3,)}`` instead of the start and the drawn target;
        ArgumentError: a configuration that does not fit.
        """
        super().reset(seed=seed)
        given = options or {}
        q = given.get("q")
        self.plant.reset(self._start if q is None else q)
        model = self.model
        spread = self.np_random.uniform(-TARGET_SPREAD, TARGET_SPREAD, model.nv)
        drawn = np.clip(self._start + spread, model.lower, model.upper)
        target = given.get("target")
        self.target = self._pose(drawn)[:3, 3].copy() if target is None else np.array(target)
        self._taken = 0
        if self.controller is not None:
            self._make_controller()
            self.controller.activate(self._stamp(), self.plant.q, self.plant.v)
        tool = self._tool()
        return self._observation(tool), self._info(tool)

    def step(self, action: Array) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """One period under an action; numbers beyond -1 to 1 are cut; ArgumentError: not finite."""
        given = np.asarray(action, dtype=np.float64)
        if given.shape != self._largest.shape or not np.isfinite(given).all():
            remedy = f"Give {len(self._largest)} finite numbers from -1 to 1."
            raise ArgumentError("is no action", where="action", got=action, remedy=remedy)
        wanted = self._largest * np.clip(given, -1.0, 1.0)
        spent = 0.0
        diverged = ""
        try:
            for k in range(self.cycles):
                self.plant.step(self._command(wanted, first=k == 0))
                spent += self._effort_share() / self.cycles
        except SimulationError as error:
            diverged = str(error)
        self._taken += 1
        tool = self._tool()
        info = self._info(tool)
        reward = -self.period * (info["distance"] + EFFORT_COST * spent)
        arrived = info["distance"] < self.tolerance and info["speed"] < ARRIVED_SPEED
        if diverged:
            info["diverged"] = diverged
        late = self._taken >= self.steps
        return self._observation(tool), reward, bool(arrived or diverged), late, info

    # -- what it consists of -----------------------------------------------------------------------

    def _stamp(self) -> int:
        """ns, never zero."""
        return nanoseconds(1.0 + self.plant.t)

    def _command(self, wanted: Array, *, first: bool) -> Array:
        """(nv,) efforts for the next period of the plant."""
        q = self.plant.q
        if self.controller is None:
            command: Array = wanted + self._gravity(q)
            return command
        stamp = self._stamp()
        if first and not self.controller.fault:
            self.controller.accept_twist(wanted[:3], wanted[3:], stamp)
        return self.controller.update(stamp + 1, q, self.plant.v)

    def _effort_share(self) -> float:
        """Mean squared share of the effort limits that the last step took."""
        return float(np.mean((self.plant.tau / self._effort_unit) ** 2))

    def _tool(self) -> Array:
        """(3,) where the tool is, m, in the world."""
        position: Array = self._pose(self.plant.q)[:3, 3]
        return position

    def _observation(self, tool: Array) -> Array:
        everything = np.concatenate([self.plant.q, self.plant.v, tool, self.target])
        lower = self.observation_space.low
        clipped: Array = np.clip(np.nan_to_num(everything), lower, self.observation_space.high)
        return clipped

    def _info(self, tool: Array) -> dict[str, Any]:
        """Distance of the tool from the target, m, its speed, m/s, a fault of the controller."""
        speed = self._jacobian(self.plant.q, np.zeros(3))[3:] @ self.plant.v
        fault = "" if self.controller is None else self.controller.fault
        return {
            "distance": float(np.linalg.norm(self.target - tool)),
            "speed": float(np.linalg.norm(speed)),
            "fault": fault,
        }
