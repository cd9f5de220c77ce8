"""The parameters of the exported controller are those of the node."""

import pytest
from support.plugin_parameters import parameters_of

import robot_dynamics_ros as rd


def test_parameters_are_those_of_the_controller_node(tmp_path):
    """Names, types, defaults, bounds and choices; what the plugin leaves out is named here."""
    settings = pytest.importorskip(
        "robot_dynamics_ros.ros.controller.parameters", reason="rclpy is not installed"
    )
    from robot_dynamics_ros.ros.transport.parameters import of_joints

    model = rd.load_robot("two_link")
    rd.export_controller(model, prefix="arm").write(tmp_path)
    emitted = parameters_of(tmp_path, model.joint_names)
    table = (
        *settings.CONTROLLER_PARAMETERS,
        *of_joints(model.joint_names, *settings.JOINT_PARAMETERS),
    )
    ours = {param.name: param for param in table}
    assert set(emitted) - set(ours) == {"use_effort_state"}
    types = {bool: "bool", int: "int", float: "double", str: "string"}
    for name, row in emitted.items():
        if name == "use_effort_state":
            continue
        param = ours[name]
        kind = f"{types[param.element]}_array" if param.is_array else types[type(param.default)]
        assert row["type"] == kind, name
        # empty stands for all, which are known here
        if name != "joints":
            assert row["default_value"] == (
                list(param.default) if param.is_array else param.default
            ), name
        rules = row.get("validation", {})
        if param.choices:
            assert set(rules["one_of<>"][0]) == set(param.choices), name
        if param.lower is not None and param.upper is not None:
            assert rules["bounds<>"] == [param.lower, param.upper], name
        elif param.lower is not None:
            rule = "lower_element_bounds<>" if param.is_array else "gt_eq<>"
            assert rules[rule] == [param.lower], name
        # a list that may be empty is checked in the code
        if param.length is not None and param.default:
            assert rules["fixed_size<>"] == param.length, name
    # declared in the code
    assert {f"collision.{joint}" for joint in model.joint_names} <= set(ours) - set(emitted)
