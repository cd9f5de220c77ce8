"""Build script of the ament_python package; also what pip reads."""

import re
import sys
from pathlib import Path

from setuptools import find_packages, setup

NAME = "robot_dynamics_ros"
HERE = Path(__file__).parent
VERSION = re.search(
    r'__version__ = "(.+?)"', (HERE / NAME / "version.py").read_text(encoding="utf-8")
).group(1)


def shared(*patterns):
    """(installation directory, files) pairs for everything below the checkout that matches."""
    where = {}
    for pattern in patterns:
        for path in sorted(HERE.glob(pattern)):
            if path.is_file():
                relative = path.relative_to(HERE)
                where.setdefault(f"share/{NAME}/{relative.parent}", []).append(str(relative))
    return sorted(where.items())


# ROS 2 as wheels.  The two distributions must never mix, and a bare "ros-sensor-msgs" takes
# whatever is newest, so every package is named with its distribution and held to that
# distribution's series.
# There are none for other platforms: there the extra installs the rest (rclpy needs PyYAML), and
# the nodes use a sourced installation.
HAS_WHEELS = "sys_platform == 'linux' and platform_machine == 'x86_64'"
ROS_JAZZY = [
    f"ros-jazzy-rclpy[fastrtps]~=7.1.6; {HAS_WHEELS}",
    *(
        f"ros-jazzy-{package}~=5.3.6; {HAS_WHEELS}"
        for package in (
            "diagnostic-msgs",
            "geometry-msgs",
            "sensor-msgs",
            "std-msgs",
            "std-srvs",
            "trajectory-msgs",
            "visualization-msgs",
        )
    ),
]
ROS_KILTED = [
    f"ros-kilted-rclpy[fastrtps]~=9.1.2; {HAS_WHEELS}",
    *(
        requirement.replace("jazzy", "kilted").replace("5.3.6", "5.5.1")
        for requirement in ROS_JAZZY[1:]
    ),
]
NATIVE = ["llvmlite>=0.39"]
VIZ = ["matplotlib>=3.5"]
XACRO = ["xacro>=2.0"]
BAGS = ["rosbags>=0.9.16"]
SYMBOLIC = ["sympy>=1.10"]
MJCF = ["mujoco>=3.1"]
MUJOCO = ["mujoco>=4.0", "trimesh>=4.5", "pycollada>=0.8"]
COMPLETION = ["argcomplete>=3.0"]
CONSTRAINTS = ["pyyaml>=5.1"]
CLUSTER = ["distributed>=2024.1"]
JAX = ["jax>=0.4.30"]
CASADI = ["casadi>=3.6"]
TORCH = ["torch>=2.0"]
GYMNASIUM = ["gymnasium>=1.0"]
# the guard before viser's handlers looks inside: a new minor version is tried before it is allowed
VIEW = [
    "viser>=1.1,<1.2",
    "trimesh>=4.5",
    "pycollada>=0.8",
    "pillow>=9",
]
# with ffmpeg: 165 MB that only films use
FILM = ["imageio>=2.30", "imageio-ffmpeg>=0.5"]
DOCS = [
    "latex2mathml>=3.77",
    "mkdocs>=1.6,<2",
    "mkdocs-material>=9.6",
    "mkdocstrings>=0.29",
    "mkdocstrings-python>=1.16",
    "nbformat>=5.1",
]
RELEASE = ["build>=1.2", "twine>=6"]

NODES = (
    "commissioning",
    "controller",
    "effort_gate",
    "payload_identification",
    "simulator",
    "viewer",
)
# colcon and Debian put executables where only ros2 looks, wheels put them on the PATH, beside those
# of others
PREFIX = "robot_dynamics_" if {"bdist_wheel", "dist_info", "editable_wheel"} & set(sys.argv) else ""

setup(
    name=NAME,
    version=VERSION,
    packages=find_packages(include=[NAME, f"{NAME}.*"]),
    package_data={
        NAME: [
            "py.typed",
            "model/examples.txt",
            "ros/tables/*.yaml",
            "export/templates/*",
            *(f"export/ros2_control/templates/{x}" for x in ("*", "*/*")),
        ]
    },
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (f"share/{NAME}", ["package.xml"]),
        *shared("launch/*.py", "config/*", "config/arms/*", "config/moveit/*", "urdf/**/*"),
    ],
    python_requires=">=3.10",
    install_requires=["numpy>=1.21", "scipy>=1.8", "urdf-parser-py>=0.0.4"],
    extras_require={
        "ros": [*ROS_JAZZY, *NATIVE, *CONSTRAINTS],
        "ros-kilted": [*ROS_KILTED, *NATIVE, *CONSTRAINTS],
        "native": NATIVE,
        "view": VIEW,
        "film": [*VIEW, *FILM],
        "viz": VIZ,
        "xacro": XACRO,
        "bags": BAGS,
        "symbolic": SYMBOLIC,
        "constraints": CONSTRAINTS,
        "cluster": CLUSTER,
        "jax": JAX,
        "casadi": CASADI,
        "torch": TORCH,
        "gymnasium": GYMNASIUM,
        "mjcf": MJCF,
        "mujoco": MUJOCO,
        "completion": COMPLETION,
        "docs": DOCS,
        "release": RELEASE,
        "test": [
            "array-api-strict>=2.0",
            "example-robot-data>=4.3",
            "exudyn>=1.9",
            "hypothesis>=6",
            "pin>=3.0",
            "pip>=22",
            *CONSTRAINTS,
            *CLUSTER,
            *JAX,
            *CASADI,
            *GYMNASIUM,
            "pytest>=7.4",
            "pytest-rerunfailures>=12.0",
            "pytest-timeout>=2.2",
            "pytest-xdist>=3.5",
            "setuptools>=70.1",
            *NATIVE,
            *VIEW,
            *FILM,
            *VIZ,
            *XACRO,
            *BAGS,
            *SYMBOLIC,
            *MJCF,
            *MUJOCO,
            *COMPLETION,
            *DOCS,
            *RELEASE,
        ],
    },
    zip_safe=False,
    author="robot_dynamics_ros maintainers",
    maintainer="robot_dynamics_ros maintainers",
    maintainer_email="maintainers@users.noreply.github.com",
    description=(
        "Rigid-body dynamics of any URDF robot for ROS 2: computed-torque control, joint "
        "wrenches, simulation."
    ),
    long_description=(HERE / "README.md").read_text(encoding="utf-8")
    if (HERE / "README.md").is_file()
    else "",
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    entry_points={
        "console_scripts": [
            *(f"{PREFIX}{node} = {NAME}.ros.main:{node}" for node in NODES),
            f"robot_dynamics = {NAME}.cli.entry:main",
        ]
    },
)
