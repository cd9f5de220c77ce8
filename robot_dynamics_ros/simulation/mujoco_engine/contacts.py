"""Contact forces of MuJoCo as values, and their sums on the links of the robot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.simulation.mujoco_engine.convert import PREFIX
from robot_dynamics_ros.simulation.mujoco_engine.world import mujoco_or_error

if TYPE_CHECKING:
    import mujoco


@dataclass(frozen=True, slots=True, eq=False)
class Contact:
    """One contact between two bodies.

    Attributes:
        a, b: the robot's links (without prefix) or bodies of the world (``"world"`` where they are nameless).
        point: (3,) in the world, m.
        normal: (3,) unit vector from ``a`` to ``b``, world axes.
        force, moment: (3,) N, (3,) N m that ``a`` exerts on ``b`` at ``point``, world axes.
        depth: penetration, m.
    """

    a: str
    b: str
    point: Array
    normal: Array
    force: Array
    moment: Array
    depth: float


class ContactReader:
    """Reads contacts of one compiled model; ``links`` are the robot's links that have geometry, in model order."""

    def __init__(self, m: mujoco.MjModel, model: RobotModel, owners: dict[str, str]) -> None:
        """``owners``: name of a geom, without prefix → link."""
        self._mujoco, self._m = mujoco_or_error(), m
        self._link: list[str | None] = []
        self._name: list[str] = []
        for g in range(m.ngeom):
            name = m.geom(g).name
            link = owners.get(name.removeprefix(PREFIX)) if name.startswith(PREFIX) else None
            self._link.append(link)
            self._name.append(link or m.body(int(m.geom_bodyid[g])).name.removeprefix(PREFIX) or name or "world")
            if link is None and not int(m.geom_bodyid[g]):
                self._name[g] = name or "world"
        have = set(self._link)
        self.links = tuple(link for link in model.link_names if link in have)
        self._six = np.zeros(6)

    def contacts(self, data: mujoco.MjData) -> list[Contact]:
        """Those that exert a force."""
        read = (self._read(data, k) for k in range(data.ncon))
        return [contact for contact in read if contact.force.any() or contact.moment.any()]

    def _read(self, data: mujoco.MjData, k: int) -> Contact:
        contact = data.contact[k]
        self._mujoco.mj_contactForce(self._m, data, k, self._six)
        axes = np.array(contact.frame).reshape(3, 3)
        one, other = (self._name[int(g)] for g in contact.geom)
        efforts = self._six[:3] @ axes, self._six[3:] @ axes
        return Contact(one, other, np.array(contact.pos), axes[0].copy(), *efforts, max(-float(contact.dist), 0.0))

    def wrenches(self, data: mujoco.MjData) -> dict[str, Array]:
        """Link → (6,) [moment; force] of all that touches it, about its origin, in its axes; zero where nothing does."""
        total = {link: np.zeros(6) for link in self.links}
        for k in range(data.ncon):
            one, other = (self._link[int(g)] for g in data.contact[k].geom)
            if one not in total and other not in total:
                continue
            contact = self._read(data, k)
            for link, sign in ((one, -1.0), (other, 1.0)):
                if link in total:
                    R, o = link_pose(data, link)
                    total[link][:3] += sign * (contact.moment + np.cross(contact.point - o, contact.force)) @ R
                    total[link][3:] += sign * contact.force @ R
        return total


def link_pose(data: mujoco.MjData, link: str) -> tuple[Array, Array]:
    """(3, 3), (3,) of a link in the world."""
    site = data.site(PREFIX + link)
    return site.xmat.reshape(3, 3), site.xpos
