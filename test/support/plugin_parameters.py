"""The parameters of an exported controller, as ros2_control reads them."""

import pytest


def parameters_of(directory, joints):
    """Full name → declaration, as generate_parameter_library reads the file."""
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    (package, top), *rest = yaml.safe_load(
        (directory / "src" / "parameters.yaml").read_text(encoding="utf-8")
    ).items()
    assert package == "arm_controller" and not rest
    found = {}

    def walk(prefix, node):
        for key, value in node.items():
            if key == "__map_joints":
                for joint in joints:
                    walk(f"{prefix}{joint}.", value)
            elif isinstance(value.get("type"), str):
                found[prefix + key] = value
            else:
                walk(f"{prefix}{key}.", value)

    walk("", top)
    return found
