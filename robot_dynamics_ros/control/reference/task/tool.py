"""The tool's reference as an object: targets in, the joints' reference out, in each cycle.

The same object serves the controller and a script; it knows no ROS and no clock.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.control.cycle.memory import HOLD, NANOSECONDS, STREAM
from robot_dynamics_ros.control.reference.goal import TrajectoryRejected
from robot_dynamics_ros.control.reference.task.approach import rest_at_reference
from robot_dynamics_ros.control.reference.task.exert import release_wrench
from robot_dynamics_ros.control.reference.task.memory import (
    HOLD_POSE,
    SEGMENT,
    TARGET_REPEATED,
    TASK_CAUSES,
    TaskMemory,
)
from robot_dynamics_ros.control.reference.task.path import ToolPath
from robot_dynamics_ros.control.reference.task.poses import (
    quaternion_of,
    quaternion_product,
)
from robot_dynamics_ros.control.reference.task.resolve import begin_task, follow_task, limit_tool
from robot_dynamics_ros.control.reference.task.seen import given_in_link, see_tool
from robot_dynamics_ros.control.reference.task.segments import follow_points
from robot_dynamics_ros.control.reference.task.settings import (
    TaskSettings,
    checked_pose,
    checked_twist,
    checked_wrench,
)
from robot_dynamics_ros.control.reference.task.targets import (
    judge_stamp,
    take_pose,
    take_twist,
    take_wrench,
)
from robot_dynamics_ros.control.reference.trajectory import nanoseconds
from robot_dynamics_ros.dynamics import kernel
from robot_dynamics_ros.dynamics.engine.backends import evaluator
from robot_dynamics_ros.dynamics.engine.routines import Memory, Routines, make_routines
from robot_dynamics_ros.errors import UnknownNameError, check_name
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.per_joint import settings_or_default, vector

# rad/s or m/s: below this the tool rests
REST_TWIST = 1e-6
# frames that stand still
WORLD_NAMES = ("", "world")
TASK_ROUTINES = (
    limit_tool,
    begin_task,
    follow_task,
    follow_points,
    rest_at_reference,
    judge_stamp,
    take_pose,
    take_twist,
    take_wrench,
    release_wrench,
    given_in_link,
    see_tool,
)


class ToolReference:
    """Moves one tool of a robot to poses, by twists, or on paths.

    Attributes:
        settings: as given; ``link``: the link that the tool belongs to.
        active: whether the joints follow the tool; :meth:`begin` sets it, :meth:`end` clears it.
        memory: what its routines work on; ``p``: the same as they see it.
        piece: (8, n) polynomials of the joints' reference at the time of the last :meth:`follow`:
            coefficients of 1, τ … τ⁵, τ in s from then on, then those of the effort with which the
            tool exerts its wrench.
        counts: cause → cycles in which it slowed the tool down, see :data:`TASK_CAUSES`.
    """

    def __init__(
        self,
        model: RobotModel,
        settings: TaskSettings | None = None,
        *,
        compiled: bool | None = None,
    ) -> None:
        """Compile what the tool needs.

        Args:
            model: the robot.
            settings: the defaults if not given.
            compiled: whether routines are compiled; ``None``: where the robot's functions are.

        Raises:
            ArgumentError: settings that do not fit the model.
            UnknownNameError: a link that the model does not have.
        """
        self.model = model
        self.settings = s = settings_or_default(TaskSettings, settings, "settings")
        self.link = s.link_of(model)
        n = model.nv
        number = model.link_index(self.link)
        pose = evaluator(model, "link_pose", (("link", number),))
        jacobian = evaluator(model, "jacobian", (("frame", "world"), ("link", number)))
        functions = {"link_pose": pose, "link_jacobian": jacobian}
        able = all(hasattr(function.engine, "callee") for function in functions.values())
        self.compiled = able if compiled is None else compiled and able
        sizes = {"nv": n + 1, "n": n, "rows": 0, "couples": 0, "by_impulse": False}
        self.memory = memory = Memory(TaskMemory, sizes, functions, compiled=self.compiled)
        self.p = memory.python
        self._routines = make_routines(memory, TASK_ROUTINES, compiled=self.compiled)
        self._all_poses = kernel(model, "link_poses")
        self._jacobian = kernel(model, "jacobian", frame="world", link=number)
        self.active = False
        self._posture = None
        if s.posture is not None:
            self._posture = vector(s.posture, n, "posture", joints=model.joint_names)
        memory["point"][:] = s.pose.position
        memory["turn"][:] = quaternion_of(s.pose.rotation)
        memory["axes"][:] = s.weights(n)
        memory["largest_speed"][:] = s.speed
        memory["largest_acceleration"][:] = s.acceleration
        memory["largest_jerk"][:] = s.jerk
        memory["posture_rate"][0] = s.posture_rate
        self.piece = memory["piece"]
        memory["twist_timeout"][0] = nanoseconds(s.twist_timeout)
        memory["wrench_timeout"][0] = nanoseconds(s.wrench_timeout)
        memory["largest_age"][0] = nanoseconds(s.largest_age)
        self._segments = np.zeros(SEGMENT)
        self._follow: Callable[[int], object]
        self._hand_segments()

    def limit(
        self,
        lower: ArrayLike,
        upper: ArrayLike,
        velocity: ArrayLike,
        acceleration: ArrayLike,
    ) -> None:
        """Keep the joints within these bounds, (n,) each; of the velocity, 0.9 of it."""
        n = self.model.nv
        bounds = [np.array(x, dtype=np.float64) for x in (lower, upper, velocity, acceleration)]
        bounds.insert(2, np.zeros(n))
        self.limit_within(*bounds, np.ones(n, dtype=np.int64))

    def limit_within(self, *bounds: np.ndarray) -> None:
        """The same from arrays that a cycle has: lower and upper bounds, margins inside them,
        velocities, accelerations, and which joints are commanded.
        """
        self._routines["limit_tool"](self.memory, *bounds)

    def _hand_segments(self) -> None:
        """Bind the routine to the path that it follows, for calls that take microseconds."""
        segments = self._segments
        if isinstance(self._routines, Routines):
            held = self._routines.held("follow_task")
            block = self.memory.block.ctypes.data
            address = segments.ctypes.data
            self._follow = lambda t: held(block, t, address)
        else:
            handed: Any = segments.data
            self._follow = lambda t: follow_task(self.p, t, handed)

    # -- what is followed --------------------------------------------------------------------------

    def begin(self, t: int, q: ArrayLike, v: ArrayLike) -> None:
        """Move the tool from the joints' positions and velocities, (n,) each, at ``t``, ns."""
        memory = self.memory
        memory["position"][:] = q
        memory["velocity"][:] = v
        memory["posture"][:] = q if self._posture is None else self._posture
        self._routines["begin_task"](memory, t)
        self.active = True

    def end(self) -> None:
        """The joints follow something else from now on."""
        self.active = False

    def follow(self, t: int, q: ArrayLike | None = None) -> int:
        """Fill ``piece`` for ``t``, ns; returns the number of the mode: HOLD or STREAM.

        ``q``: (n,) measured positions, at which a wrench is exerted; without them the reference's.
        """
        if self.p.exerts[0] == 1:
            memory = self.memory
            memory["measured"][:] = memory["position"] if q is None else q
        self._follow(t)
        return HOLD if self.p.kind[0] == HOLD_POSE else STREAM

    @property
    def counts(self) -> Counter[str]:
        return Counter(dict(zip(TASK_CAUSES, self.memory["hits"].tolist(), strict=True)))

    # -- targets -----------------------------------------------------------------------------------

    def to_pose(
        self,
        position: ArrayLike,
        quaternion: ArrayLike,
        t: int,
        *,
        frame: str = "",
        stamp: int = 0,
        begin: Callable[[], None] = lambda: None,
    ) -> None:
        """Head for a pose of the tool, straight from where its reference is.

        Poses that follow each other within 0.1 s are a stream: the tool moves on between them with
        the velocity that their stamps say.

        Args:
            position: (3,) m.
            quaternion: (4,) x, y, z, w.
            t: the present time, ns.
            frame: a link, whose desired pose at this moment counts, or "" for the world.
            stamp: ns, when the target was meant; 0: now.
            begin: called once the target is accepted, before anything changes.

        Raises:
            TrajectoryRejected: numbers that are no pose, a frame that is unknown, a target that is
                late or was there before; the tool goes on as before.
        """
        given = checked_pose(position, quaternion)
        self._check_frame(frame)
        stamp = self._checked_stamp(stamp, t)
        begin()
        pose = self._in_world(given, frame)
        self.memory["given_pose"][:] = pose
        self._routines["take_pose"](self.memory, stamp)

    def by_twist(
        self,
        angular: ArrayLike,
        linear: ArrayLike,
        t: int,
        *,
        frame: str = "",
        stamp: int = 0,
        begin: Callable[[], None] = lambda: None,
    ) -> None:
        """Move the tool by a twist of its own point, until the next, or ``twist_timeout``.

        Args:
            angular, linear: (3,) rad/s and m/s, in the axes of the frame.
            t, frame, stamp, begin, and errors: as :meth:`to_pose`.
        """
        twist = checked_twist(angular, linear)
        self._check_frame(frame)
        stamp = self._checked_stamp(stamp, t)
        begin()
        R = self._frame(frame)[:3, :3]
        self.memory["given_twist"][:] = np.concatenate([R @ twist[:3], R @ twist[3:]])
        self._routines["take_twist"](self.memory, t, stamp)

    def exert(
        self,
        moment: ArrayLike,
        force: ArrayLike,
        t: int,
        *,
        frame: str = "",
        stamp: int = 0,
        begin: Callable[[Array], None] = lambda wrench: None,
    ) -> None:
        """Press with a wrench about the tool's own point, until the next, or ``wrench_timeout``;
        zero ends it.  It grows and fades smoothly, within some 0.1 s.

        Args:
            moment, force: (3,) N m and N that the tool exerts, in the axes of the frame.
            frame: the tool's link, with whose axes the wrench turns; another link, whose axes count
                where they are at this moment; or "" for the world.
            t, stamp: as :meth:`to_pose`.
            begin: called with the wrench, (6,) in world axes, before anything changes; what it
                raises leaves everything as it was.

        Raises:
            TrajectoryRejected: numbers that are not finite, a wrench beyond ``settings.wrench``, a
                frame that is unknown, a wrench that is late.
        """
        asked = checked_wrench(moment, force, self.settings.wrench)
        self._check_frame(frame)
        self._check_stamp(stamp, t, streams=False)
        R = self._frame(frame)[:3, :3]
        in_world = np.concatenate([R @ asked[:3], R @ asked[3:]])
        begin(in_world)
        turns = frame == self.link
        self.memory["given_wrench"][:] = asked if turns else in_world
        self._routines["take_wrench"](self.memory, t, int(turns))

    def release(self) -> None:
        """Exert no wrench any more: it fades out."""
        self._routines["release_wrench"](self.memory)

    def on_path(
        self,
        path: ToolPath,
        t: int,
        *,
        begin: Callable[[], None] = lambda: None,
    ) -> None:
        """Follow a path from ``t``, ns, on; where joints cannot keep up, time on it is slower.

        Raises:
            TrajectoryRejected: numbers that are no poses, times that do not increase, a frame that
                is unknown.
        """
        self._check_frame(path.frame)
        begin()
        count = len(path.times)
        # the first row is for the tool's own reference
        times = np.concatenate([[0.0], path.times])
        given = [self._in_world(pose, path.frame) for pose in path.poses]
        poses = np.vstack([np.zeros(7), *given]).ravel()
        twists = np.zeros((1 + count, 2, 3))
        if path.twists is not None:
            twists[1:] = path.twists.reshape(count, 2, 3) @ self._frame(path.frame)[:3, :3].T
        segments = np.zeros(count * SEGMENT)
        given_twists = int(path.twists is not None)
        arrays = times, poses, twists.ravel(), segments
        far = self._routines["follow_points"](self.memory, t, count, given_twists, *arrays)
        if far:
            raise TrajectoryRejected(
                "the tool would turn too far before this point",
                where=f"points[{far - 1}]",
                got=path.poses[far - 1].tolist(),
                remedy="Give poses in between.",
            )
        self._segments = segments
        self._hand_segments()

    def hold(self) -> None:
        """Come to rest where the tool's reference is."""
        self._routines["rest_at_reference"](self.memory)

    def _checked_stamp(self, stamp: int, t: int) -> int:
        """When a target was meant, ns; TrajectoryRejected: too long ago, or there was a newer
        one.
        """
        self._check_stamp(stamp, t, streams=self.active)
        return stamp if stamp > 0 else t

    def _check_stamp(self, stamp: int, t: int, *, streams: bool) -> None:
        """Refuse a target by its stamp, ns, 0: now; ``t`` and ``streams`` as of
        :func:`judge_stamp`.
        """
        refusal = self._routines["judge_stamp"](self.memory, t, stamp, int(streams))
        if refusal == 0:
            return
        where = "header.stamp"
        if refusal == TARGET_REPEATED:
            problem = "the target was there before, or a newer one"
            remedy = "Stamps must increase; nothing was changed."
            raise TrajectoryRejected(problem, where=where, got=stamp, remedy=remedy)
        age = (t - stamp) / NANOSECONDS
        when = "old" if age > 0.0 else "ahead"
        raise TrajectoryRejected(
            f"the target is {abs(age):.3f} s {when}",
            where=where,
            got=stamp,
            remedy="Check that the clocks agree, or set the stamp to zero.",
        )

    def _is_world(self, frame: str) -> bool:
        return frame in WORLD_NAMES and frame not in self.model.link_names

    def _check_frame(self, frame: str) -> None:
        """TrajectoryRejected: a frame that is neither the world nor a link."""
        if not self._is_world(frame):
            try:
                check_name("frame", frame, self.model.link_names, where="header.frame_id")
            except UnknownNameError as error:
                raise TrajectoryRejected(
                    error.problem, where=error.where, got=frame, remedy=error.remedy
                ) from None

    def _frame(self, frame: str) -> Array:
        """(4, 4) pose of a frame in the world, where the reference has it now."""
        if self._is_world(frame):
            return np.eye(4)
        poses: Array = self._all_poses(self.memory["position"])
        return poses[self.model.link_index(frame)]

    def _in_world(self, pose: Array, frame: str) -> Array:
        """(7,) a pose in a frame, in the world."""
        if self._is_world(frame):
            return pose
        X = self._frame(frame)
        turn = quaternion_product(quaternion_of(X[:3, :3]), pose[3:])
        return np.concatenate([X[:3, 3] + X[:3, :3] @ pose[:3], turn])

    def see(self, q: Array, v: Array, desired: Array) -> tuple[Array, Array, Array]:
        """Where the tool is, for measured positions and velocities, and the joints' reference,
        (n,) each: pose (7,), twist (6,), and [rotation; way] (6,) from there to the desired pose;
        arrays of its own, which the next call overwrites.
        """
        memory = self.memory
        self._routines["see_tool"](memory, q, v, desired)
        return memory["seen_pose"], memory["seen_twist"], memory["seen_error"]

    # -- what is known -----------------------------------------------------------------------------

    def tool_at(self, q: Array) -> Array:
        """(7,) pose of the tool in the world for joint positions (n,)."""
        X = self._all_poses(q)[self.model.link_index(self.link)]
        position = X[:3, 3] + X[:3, :3] @ self.memory["point"]
        turn = quaternion_product(quaternion_of(X[:3, :3]), self.memory["turn"])
        return np.concatenate([position, turn])

    def efforts_of(self, q: Array, wrench: Array) -> Array:
        """(n,) efforts Jᵀ W with which the tool exerts a wrench, (6,) in world axes."""
        efforts: Array = self._jacobian(q, self.memory["point"]).T @ wrench
        return efforts

    def twist_at(self, q: Array, v: Array) -> Array:
        """(6,) [angular; linear] of the tool for joint positions and velocities, (n,) each."""
        twist: Array = self._jacobian(q, self.memory["point"]) @ v
        return twist
