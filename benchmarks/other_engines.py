"""Our functions in JAX beside JaxSim and MJX, on the processor: ``python -m
benchmarks.other_engines``.

Forward dynamics of a serial chain with inertias off the axes, one state, 128 and 4096: seconds
until the first result (tracing and compiling), and µs a state, the least of some runs, all in one
process.  Peers are left out, and said to be, where they are not installed (``pip install jaxsim
mujoco-mjx``).  JaxSim reads SDF, which is written here, so that no Gazebo is needed.  Also:
gradients, compile time of all functions at fifty joints, and the relative error of float32.

    --joints 7 --batch 0 128 4096 --peers jaxsim mjx --json FILE --precision --large
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np

MASS = 1.0
COM = (0.01, 0.02, 0.15)
MOMENTS = (0.01, 0.02, 0.03)
LENGTH = 0.3
AXES = ("0 0 1", "0 1 0")


def urdf(joints: int) -> str:
    """A serial chain, axes z and y by turns."""
    inertial = (
        f"<inertial><origin xyz='{' '.join(map(str, COM))}'/><mass value='{MASS}'/><inertia "
        f"ixx='{MOMENTS[0]}' "
        f"iyy='{MOMENTS[1]}' izz='{MOMENTS[2]}' ixy='0' ixz='0' iyz='0'/></inertial>"
    )
    text = "<robot name='chain'><link name='l0'/>"
    for k in range(1, joints + 1):
        text += (
            f"<link name='l{k}'>{inertial}</link><joint name='j{k}' type='revolute'><parent "
            f"link='l{k - 1}'/>"
            f"<child link='l{k}'/><origin xyz='0 0 {LENGTH}'/><axis xyz='{AXES[k % 2]}'/>"
            "<limit lower='-3' upper='3' effort='100' velocity='10'/></joint>"
        )
    return text + "</robot>"


def sdf(joints: int) -> str:
    """The same chain, its first link fixed to the world."""
    text = "<sdf version='1.10'><model name='chain' canonical_link='l0'>"
    for k in range(joints + 1):
        small = k == 0
        mass, moments = (1.0, (1.0, 1.0, 1.0)) if small else (MASS, MOMENTS)
        com = (0.0, 0.0, 0.0) if small else COM
        pose = (
            "<pose>0 0 0 0 0 0</pose>" if small else f"<pose relative_to='j{k}'>0 0 0 0 0 0</pose>"
        )
        text += (
            f"<link name='l{k}'>{pose}<inertial><pose>{' '.join(map(str, com))} 0 0 "
            f"0</pose><mass>{mass}</mass><inertia>"
            f"<ixx>{moments[0]}</ixx><iyy>{moments[1]}</iyy><izz>"
            f"{moments[2]}</izz><ixy>0</ixy><ixz>0</ixz><iyz>0</iyz>"
            "</inertia></inertial></link>"
        )
    text += (
        "<joint name='fixed' type='fixed'><pose>0 0 0 0 0 "
        "0</pose><parent>world</parent><child>l0</child></joint>"
    )
    for k in range(1, joints + 1):
        text += (
            f"<joint name='j{k}' type='revolute'><pose relative_to='l{k - 1}'>0 0 {LENGTH} 0 0 "
            "0</pose>"
            f"<parent>l{k - 1}</parent><child>l{k}</child><axis><xyz>"
            f"{AXES[k % 2]}</xyz><limit><lower>-3</lower>"
            "<upper>3</upper><effort>100</effort><velocity>10</velocity></limit></axis></joint>"
        )
    return text + "</model></sdf>"


def ours(joints: int) -> Callable[..., Any]:
    import robot_dynamics_ros as rd

    return rd.jax_functions(rd.load_urdf(urdf(joints))).forward_dynamics


def jaxsim(joints: int) -> Callable[..., Any]:
    import jaxsim.api as js

    model = js.model.JaxSimModel.build_from_model_description(sdf(joints), is_urdf=False)

    def forward(q: Any, v: Any, tau: Any) -> Any:
        data = js.data.JaxSimModelData.build(model=model, joint_positions=q, joint_velocities=v)
        return js.model.forward_dynamics_aba(model, data, joint_forces=tau)[1]

    return forward


def mjx(joints: int) -> Callable[..., Any]:
    import mujoco
    from mujoco import mjx as engine

    model = mujoco.MjModel.from_xml_string(urdf(joints))
    model.opt.disableflags = int(
        mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    )
    placed = engine.put_model(model)
    data = engine.make_data(model)

    def forward(q: Any, v: Any, tau: Any) -> Any:
        return engine.forward(placed, data.replace(qpos=q, qvel=v, qfrc_applied=tau)).qacc

    return forward


ENGINES = {"ours": ours, "jaxsim": jaxsim, "mjx": mjx}


def states(joints: int, batch: int) -> list[Any]:
    import jax.numpy as jnp

    rng = np.random.default_rng(0)
    lead = (batch,) if batch else ()
    return [jnp.asarray(rng.uniform(-1.0, 1.0, (*lead, joints))) for _ in range(3)]


def timed(
    function: Callable[..., Any], arguments: list[Any], budget: float = 2.0
) -> tuple[float, float, Any]:
    """Seconds until the first result, least seconds of later ones, and the result."""
    import jax

    run = jax.jit(function)
    start = time.perf_counter()
    result = jax.block_until_ready(run(*arguments))
    first = time.perf_counter() - start
    best = float("inf")
    spent = 0.0
    while spent < budget:
        start = time.perf_counter()
        jax.block_until_ready(run(*arguments))
        took = time.perf_counter() - start
        best = min(best, took)
        spent = spent + took
    return first, best, result


def compare(joints: int, batches: list[int], peers: list[str]) -> list[dict[str, Any]]:
    import jax

    rows = []
    for name in ["ours", *peers]:
        try:
            forward = ENGINES[name](joints)
        except ImportError as error:
            print(f"{name}: left out, not installed ({error})")
            continue
        for batch in batches:
            arguments = states(joints, batch)
            first, best, result = timed(jax.vmap(forward) if batch else forward, arguments)
            expected = ours(joints)(*arguments)
            error = float(
                np.abs(np.asarray(result) - np.asarray(expected)).max()
                / np.abs(np.asarray(expected)).max()
            )
            rows.append(
                {
                    "engine": name,
                    "joints": joints,
                    "batch": max(batch, 1),
                    "first_s": first,
                    "us_per_state": best * 1e6 / max(batch, 1),
                    "difference": error,
                }
            )
            print(
                "  {engine:8} {joints:3} joints, batch {batch:5}: first result {first_s:7.2f} s, "
                "{us_per_state:10.3f} µs a state, differs from ours by {difference:.0e}".format(
                    **rows[-1]
                ),
                flush=True,
            )
    for batch in {row["batch"] for row in rows}:
        at = {row["engine"]: row for row in rows if row["batch"] == batch}
        for peer in at.keys() - {"ours"}:
            print(
                f"  batch {batch}: {peer} takes "
                f"{at[peer]['us_per_state'] / at['ours']['us_per_state']:.1f} × our time a "
                "state, "
                f"{at[peer]['first_s'] / at['ours']['first_s']:.1f} × our time to the first "
                "result"
            )
    return rows


def large(joints: int) -> list[dict[str, Any]]:
    """Time to the first result of functions of a long chain."""
    import jax

    import robot_dynamics_ros as rd
    from robot_dynamics_ros.frameworks.jax_forms import form_of
    from robot_dynamics_ros.frameworks.traced import make_request

    model = rd.load_urdf(urdf(joints))
    f = rd.jax_functions(model)
    rows = []
    names = [
        "inverse_dynamics",
        "forward_dynamics",
        "gravity_forces",
        "mass_matrix",
        "mass_matrix_inverse",
        "inverse_dynamics_derivatives",
        "coriolis_matrix",
        "kinetic_energy",
        "center_of_mass",
    ]
    q, v, tau = states(joints, 0)
    known = {"q": q, "v": v, "a": tau, "tau": tau}
    for name in names:
        request = make_request(model, name, {}, where="jax")
        first, best, _ = timed(f[name], [known[word] for word, _ in request.inputs], 0.3)
        rows.append(
            {
                "function": name,
                "form": form_of(model, request),
                "joints": joints,
                "first_s": first,
                "us": best * 1e6,
            }
        )
        print(
            f"  {name:30} {rows[-1]['form']:9} first result {first:6.2f} s, {best * 1e6:9.1f} µs",
            flush=True,
        )
    gradient = jax.grad(lambda *x: f.forward_dynamics(*x).sum(), (0, 1, 2))
    first, best, _ = timed(gradient, [q, v, tau], 0.3)
    rows.append(
        {
            "function": "gradient of forward_dynamics",
            "form": "",
            "joints": joints,
            "first_s": first,
            "us": best * 1e6,
        }
    )
    print(
        f"  gradient of forward_dynamics             first result {first:6.2f} s, "
        f"{best * 1e6:9.1f} µs",
        flush=True,
    )
    return rows


def precision(robot: str, count: int = 200) -> list[dict[str, Any]]:
    """Worst relative error of float32, by function: largest error over the output's largest entry,
    over random states.
    """
    import jax.numpy as jnp

    import robot_dynamics_ros as rd
    from robot_dynamics_ros.dynamics.engine.registry import TABLE
    from robot_dynamics_ros.errors import RobotDynamicsError
    from robot_dynamics_ros.frameworks.traced import make_request

    model = rd.load_robot(robot)
    f = rd.jax_functions(model)
    rows = []
    rng = np.random.default_rng(0)
    link = model.link_names[-2]
    known = {"q": rng.uniform(-np.pi, np.pi, (count, model.nq))}
    known |= {word: rng.uniform(-3.0, 3.0, (count, model.nv)) for word in ("v", "a")}
    known["tau"] = rng.uniform(-30.0, 30.0, (count, model.nv))
    known |= {
        "friction": np.array([1.0, 0.5, 0.1]),
        "stops": np.array([100.0, 0.5]),
        "step": np.array([1e-3]),
    }
    known["point"] = np.zeros(3)
    print(
        f"| function | worst relative error of float32 ({robot}, {count} random states) "
        "|\n|---|---|"
    )
    for name, entry in TABLE.items():
        if [word for word, _ in entry.inputs] == ["q", "external"]:
            # zero without wrenches
            continue
        options = {"link": link} if "link" in entry.options else {}
        try:
            request = make_request(model, name, options, where="jax")
            inputs = [known[word] for word, _ in request.inputs]
            exact = rd.kernel(model, name, **dict(request.options))(*inputs)
            found = f[name](*(jnp.asarray(x, jnp.float32) for x in inputs), **options)
        except (KeyError, RobotDynamicsError):
            # functions about constraints and observers
            continue
        pairs = zip(found, exact, strict=True) if isinstance(exact, tuple) else [(found, exact)]
        worst = 0.0
        for x, y in pairs:
            x = np.asarray(x, float).reshape(count, -1)
            y = np.asarray(y).reshape(count, -1)
            worst = max(
                worst,
                float((np.abs(x - y).max(axis=1) / np.maximum(np.abs(y).max(axis=1), 1e-12)).max()),
            )
        rows.append({"function": name, "float32": worst})
        print(f"| `{name}` | {worst:.1e} |", flush=True)
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--joints", type=int, default=7)
    parser.add_argument("--batch", type=int, nargs="*", default=[0, 128, 4096])
    parser.add_argument("--peers", nargs="*", choices=("jaxsim", "mjx"), default=["jaxsim", "mjx"])
    parser.add_argument(
        "--large", type=int, default=0, help="joints of a long chain whose functions are compiled"
    )
    parser.add_argument(
        "--precision", default="", help="robot whose functions' float32 is measured"
    )
    parser.add_argument("--json", default="")
    arguments = parser.parse_args()
    try:
        import jax
    except ImportError:
        print("JAX is not installed: pip install 'robot_dynamics_ros[jax]'")
        return 0
    jax.config.update("jax_enable_x64", True)
    results: dict[str, Any] = {"jax": jax.__version__}
    if arguments.batch:
        results["forward_dynamics"] = compare(arguments.joints, arguments.batch, arguments.peers)
    if arguments.large:
        results["large"] = large(arguments.large)
    if arguments.precision:
        results["precision"] = precision(arguments.precision)
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
