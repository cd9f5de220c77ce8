"""What is given to the nodes at the start and cannot be meant: each is named, with what was
meant.
"""

from __future__ import annotations

import os

import pytest
import yaml

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from robot_dynamics_ros.ros.run import for_other_nodes

# what nodes say of it is the same in a fork
pytestmark = pytest.mark.usefixtures("warm")

ROBOT = "two_link"
MISSPELT = {
    "controller": ("gains.shoulder.p", "gains.sholder.p"),
    "simulator": ("update_rate", "update_rat"),
    "viewer": ("port", "prt"),
    "commissioning": ("declared_rate", "declared_rat"),
    "payload_identification": ("velocity_scale", "velocty_scale"),
}


def written(folder, parameters, node="/**"):
    file = folder / "given.yaml"
    file.write_text(yaml.safe_dump({node: {"ros__parameters": parameters}}))
    return file


@pytest.mark.middleware
@pytest.mark.parametrize("node", MISSPELT)
def test_an_unknown_parameter_is_named_and_those_of_other_nodes_are_not(start, tmp_path, node):
    if node == "viewer":
        pytest.importorskip("viser")
    of_all_nodes = {
        **{
            "gains.elbow.p": 50.0,
            "limits.elbow.velocity": 9.0,
            "initial_positions.elbow": 0.1,
            "armature.elbow": 0.1,
        },
        **{
            "state_interfaces": ["position", "velocity", "effort"],
            "rate": 30.0,
            "mujoco.box.size": [1.0, 1.0, 1.0],
        },
    }
    if node == "simulator":
        # it has no such shape, and says so
        del of_all_nodes["mujoco.box.size"]
    known, misspelt = MISSPELT[node]
    file = written(tmp_path, {**of_all_nodes, misspelt: 1.0 if "." in misspelt else 1})
    process = start(node, robot_description_file=ROBOT, params_file=file)
    assert process.wait_for_output(
        f"unknown parameter '{misspelt}' is ignored; did you mean {known!r}?", 60.0
    )
    assert process.output().count("unknown parameter") == 1


@pytest.mark.middleware
@pytest.mark.parametrize("name", ["limits.knee.effort", "limits.elbow.efort"])
def test_a_gate_refuses_a_bound_that_it_could_not_apply(start, tmp_path, name):
    process = start(
        "effort_gate", robot_description_file=ROBOT, params_file=written(tmp_path, {name: 5.0})
    )
    assert process.wait(60.0) == 1
    assert name in process.output() and "Did you mean 'limits.elbow.effort" in process.output()


@pytest.mark.middleware
def test_without_a_description_the_reason_is_looked_for(start, tmp_path):
    misspelt = start("simulator", robot_description_fil=ROBOT)
    assert misspelt.wait_for_output("did you mean 'robot_description_file'?", 60.0)
    empty = start("simulator", params_file=written(tmp_path, {"robot_description": ""}))
    assert empty.wait_for_output("the parameter robot_description is empty", 60.0)


@pytest.mark.middleware
@pytest.mark.parametrize("node", ["controller", "simulator", "effort_gate"])
@pytest.mark.parametrize("text", ["", " \n"], ids=["no bytes", "blank"])
def test_an_empty_file_ends_the_node(start, tmp_path, node, text):
    file = tmp_path / "arm.urdf"
    file.write_text(text)
    process = start(node, robot_description_file=file)
    assert process.wait(60.0) == 1
    assert "arm.urdf" in process.output() and "it is empty" in process.output()


@pytest.mark.middleware
@pytest.mark.parametrize("node", ["controller", "simulator", "effort_gate"])
def test_a_compiler_that_cannot_be_loaded_is_named_and_done_without(
    start, tmp_path, monkeypatch, node
):
    package = tmp_path / "broken" / "llvmlite"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "binding.py").write_text("raise OSError('libllvmlite.so: wrong ELF class')")
    monkeypatch.setenv(
        "PYTHONPATH",
        os.pathsep.join([str(package.parent), *filter(None, [os.environ.get("PYTHONPATH")])]),
    )
    process = start(node, robot_description_file=ROBOT, cold=True)
    running = {
        "controller": "active; holding",
        "simulator": "simulating",
        "effort_gate": "waiting for commands",
    }[node]
    assert process.wait_for_output(running, 60.0), process.output()
    assert "Traceback" not in process.output()
    if node != "effort_gate":
        assert (
            "llvmlite cannot be loaded (OSError: libllvmlite.so: wrong ELF class)"
            in process.output()
        )


@pytest.mark.middleware
def test_a_parameter_file_for_another_node_is_named(start, tmp_path):
    # the executable's name, not the node's
    file = written(tmp_path, {"update_rate": 100.0}, "simulator")
    process = start("simulator", robot_description_file=ROBOT, params_file=file)
    assert process.wait_for_output(
        f"{file} has nothing for /robot_simulator, only for /simulator", 60.0
    )


@pytest.mark.middleware
def test_a_string_that_looks_like_a_date_ends_no_node(start, tmp_path):
    file = tmp_path / "given.yaml"
    # no date; PyYAML would make one of it
    file.write_text("/**:\n  ros__parameters:\n    made: 2024-13-45\n")
    process = start("effort_gate", robot_description_file=ROBOT, params_file=file)
    assert process.wait_for_output("waiting for commands", 60.0), process.output()


@pytest.mark.parametrize(
    ("address", "node", "reached"),
    [
        *(
            ("/**", "/arm/controller", True),
            ("/**/controller", "/controller", True),
            ("/*/controller", "/a/controller", True),
        ),
        *(
            ("controller", "/controller", True),
            ("controller", "/arm/controller", False),
            ("/*", "/arm/controller", False),
        ),
        *(("/arm/**", "/arm/b/controller", True), ("/arm/controller", "/arm/controller", True)),
    ],
)
def test_addresses_are_understood_as_the_middleware_does(domain, tmp_path, address, node, reached):
    import rclpy
    from rclpy.context import Context
    from rclpy.node import Node

    file = written(tmp_path, {"known": 5}, address)
    context = Context()
    rclpy.init(args=["--ros-args", "--params-file", str(file)], context=context)
    namespace, _, name = node.rpartition("/")
    real = Node(name, namespace=namespace or None, context=context, enable_rosout=False)
    try:
        assert ("known" in real._parameter_overrides) is reached
    finally:
        real.destroy_node()
        context.try_shutdown()
    assert (not list(for_other_nodes(["--params-file", str(file)], node))) is reached
