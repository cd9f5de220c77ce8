"""YAML as ROS's parameter files, URDF and JSON write numbers: ``1e-3`` is one.

PyYAML follows YAML 1.1, which asks for a point and a sign in a number with an exponent, and takes
``1e-3`` for a text.
"""

from __future__ import annotations

import re
from typing import Any

from robot_dynamics_ros.errors import optional_package

_NUMBER_WITH_EXPONENT = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)[eE][-+]?\d+\Z")


def load_yaml(text: str, what: str, where: str) -> Any:
    """The content of a document; ``what`` needs it, and ``where``, for the error that PyYAML is
    missing.

    Raises:
        BackendError: PyYAML is not installed.
        yaml.YAMLError: the text is not YAML.
    """
    yaml = optional_package("yaml", what, where, "pyyaml")

    class Loader(yaml.SafeLoader):  # type: ignore[misc, name-defined]
        """With resolvers of its own: those of its base are not changed."""

    Loader.add_implicit_resolver(
        "tag:yaml.org,2002:float", _NUMBER_WITH_EXPONENT, list("-+.0123456789")
    )
    return yaml.load(text, Loader)
