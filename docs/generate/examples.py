"""Examples of public functions and classes that have none in their docstring; the reference shows them, a test runs them.

All start with :data:`GIVEN`.
"""

from __future__ import annotations

__all__ = ["AFTER_IDENTIFY", "EXAMPLES", "GIVEN"]

GIVEN = """
>>> import numpy as np
>>> import robot_dynamics_ros as rd
>>> model = rd.load_robot("two_link")
>>> q, v, a, tau = np.array([0.3, 0.5]), np.array([0.1, -0.2]), np.array([1.0, 2.0]), np.array([30.0, 5.0])
"""
"""What every example takes for granted."""

EXAMPLES = {
    # robots
    "DCMotor": """
>>> motor = rd.DCMotor(resistance=1.0, torque_constant=0.1, gear_ratio=50.0)
>>> rd.Plant(model, motors={"elbow": motor}).model.nv
2
""",
    "DHRow": """
>>> table = rd.denavit_hartenberg(model, "tip")
>>> len(table.rows)
2
""",
    "DHTable": """
>>> rd.denavit_hartenberg(model, "tip").rows[0].prismatic
False
""",
    "Inertia": """
>>> round(rd.inertia_of_sphere(0.1, mass=2.0).mass, 9)
2.0
""",
    "Joint": """
>>> model.joint("elbow").child
'forearm'
""",
    "JointLimits": """
>>> float(model.joint("elbow").limits.effort)
25.0
""",
    "JointType": """
>>> model.joint("elbow").type.name
'REVOLUTE'
""",
    "Link": """
>>> model.link("forearm").inertia.mass
2.5
""",
    "Mimic": """
>>> model.joint("elbow").mimic is None
True
""",
    "Pose": """
>>> rd.Pose().position.shape
(3,)
""",
    "RobotDescription": """
>>> len(model.description.links)
4
""",
    "RobotModel": """
>>> model.joint_names, model.nv, model.total_mass
(('shoulder', 'elbow'), 2, 6.5)
""",
    "add_rotors": """
>>> motor = rd.DCMotor(resistance=1.0, torque_constant=0.1, gear_ratio=50.0, rotor_inertia=1e-5)
>>> rd.add_rotors(model, {"elbow": motor}).armature.round(6).tolist()
[0.0, 0.025]
""",
    "chain": """
>>> rd.chain(5).nv
5
""",
    "denavit_hartenberg": """
>>> len(rd.denavit_hartenberg(model, "tip").rows)
2
""",
    "find_robot": """
>>> found = rd.find_robot("two_link")
""",
    "inertia_of_capsule": """
>>> body = rd.inertia_of_capsule(0.1, 0.5, density=1000.0)
>>> body.mass > 0
True
""",
    "inertia_of_cone": """
>>> body = rd.inertia_of_cone(0.1, 0.4, mass=1.0)
>>> body.com.round(9).tolist()
[0.0, 0.0, 0.1]
""",
    "inertia_of_cylinder": """
>>> round(float(rd.inertia_of_cylinder(0.1, 0.5, mass=2.0).rotational[2, 2]), 9)
0.01
""",
    "inertia_of_density": """
>>> body = rd.inertia_of_density(lambda x, y, z: 1000.0 + 0.0 * x, [0, 0, 0], [0.1, 0.1, 0.1])
>>> round(body.mass, 6)
1.0
""",
    "inertia_of_ellipsoid": """
>>> round(float(rd.inertia_of_ellipsoid([0.1, 0.1, 0.1], mass=2.0).rotational[0, 0]), 9)
0.008
""",
    "inertia_of_sphere": """
>>> round(float(rd.inertia_of_sphere(0.1, mass=2.0).rotational[0, 0]), 9)
0.008
""",
    "load_urdf": """
>>> text = rd.to_urdf(model)
>>> rd.load_urdf(text).joint_names
('shoulder', 'elbow')
""",
    "parse_urdf": """
>>> len(rd.parse_urdf(rd.to_urdf(model)).joints)
3
""",
    "robot_path": """
>>> rd.robot_path("two_link").name
'two_link.urdf'
""",
    "to_urdf": """
>>> rd.to_urdf(model).count("<joint ")
3
""",
    # dynamics
    "BackendStatus": """
>>> rd.backend_status(model).backend in rd.available_backends()
True
""",
    "available_backends": """
>>> "numpy" in rd.available_backends()
True
""",
    "backend_of": """
>>> rd.backend_of(model.with_backend("numpy"))
'numpy'
""",
    "body_wrenches": """
>>> rd.body_wrenches(model, {"tip": [0, 0, 0, 0, 0, -10.0]}, q).shape == (model.nb, 6)
True
""",
    "check_finite": """
>>> rd.check_finite(q=q)  # raises ArgumentError otherwise
""",
    "link_wrenches": """
>>> rd.link_wrenches(model, {"tip": [0, 0, 0, 0, 0, -10.0]}, q).shape == (len(model.link_names), 6)
True
""",
    "prepare": """
>>> rd.prepare(model, "mass_matrix", "forward_dynamics")
""",
    "prepared": """
>>> len(rd.prepared(model)) >= 0
True
""",
    "rollout": """
>>> end_q, end_v = rd.rollout(model, q, v, dt=1e-3, steps=100)
>>> end_q.shape
(2,)
""",
    "center_of_mass": """
>>> rd.center_of_mass(model, q).shape
(3,)
""",
    "center_of_mass_jacobian": """
>>> rd.center_of_mass_jacobian(model, q).shape
(3, 2)
""",
    "center_of_mass_motion": """
>>> position, velocity, acceleration = rd.center_of_mass_motion(model, q, v, a)
>>> np.allclose(velocity, rd.center_of_mass_jacobian(model, q) @ v)
True
""",
    "centroidal_momentum": """
>>> rd.centroidal_momentum(model, q, v).shape
(6,)
""",
    "centroidal_momentum_matrix": """
>>> np.allclose(rd.centroidal_momentum_matrix(model, q) @ v, rd.centroidal_momentum(model, q, v))
True
""",
    "ConstrainedMotion": """
>>> closed = rd.limb(3, plane="vertical")
>>> loops = rd.Constraints(closed, [rd.point_constraint("pin", "tip", "world", point_b=(0.5, 0.0, 0.2))])
>>> start, rates = loops.consistent_state([0.3, 0.5, 0.5], [0.0, 0.0, 0.0])
>>> motion = loops.forward_dynamics(start, rates, np.zeros(3))
>>> len(motion)
2
""",
    "Constraint": """
>>> rd.gear_constraint("fingers", "shoulder", "elbow", ratio=-1.0).kind
'gear'
""",
    "Constraints": """
>>> geared = rd.Constraints(model, [rd.gear_constraint("gears", "shoulder", "elbow", ratio=1.0)])
>>> acceleration, reactions = geared.forward_dynamics([0.2, 0.2], [0.0, 0.0], tau)
>>> bool(np.isclose(acceleration[0], acceleration[1]))
True
""",
    "ConstraintReport": """
>>> geared = rd.Constraints(model, [rd.gear_constraint("gears", "shoulder", "elbow", ratio=1.0)])
>>> report = geared.diagnose([0.2, 0.2])
""",
    "distance_constraint": """
>>> rd.distance_constraint("rod", "tip", "world", point_b=(0.5, 0.0, 0.5)).kind
'distance'
""",
    "gear_constraint": """
>>> rd.gear_constraint("fingers", "shoulder", "elbow", ratio=-1.0).kind
'gear'
""",
    "hinge_constraint": """
>>> rd.hinge_constraint("pin", "tip", "world", axis_a=(0, 1, 0)).kind
'hinge'
""",
    "point_constraint": """
>>> rd.point_constraint("ball", "tip", "world", point_b=(0.5, 0.0, 0.5)).kind
'point'
""",
    "rolling_constraint": """
>>> rd.rolling_constraint("wheel", "world", "forearm", radius=0.1).kind
'rolling'
""",
    "weld_constraint": """
>>> rd.weld_constraint("grip", "tip", "world").kind
'weld'
""",
    "load_constraints": """
>>> path = "loops.yaml"
>>> _ = open(path, "w").write("constraints: [{type: gear, name: g, a: shoulder, b: elbow, ratio: 1}]")
>>> rd.load_constraints(model, path).model is model
True
""",
    "kinetic_energy": """
>>> bool(np.isclose(rd.kinetic_energy(model, q, v), 0.5 * v @ rd.mass_matrix(model, q) @ v))
True
""",
    "potential_energy": """
>>> float(rd.potential_energy(model, [0.0, 0.0]))
0.0
""",
    "forward_dynamics_derivatives": """
>>> by_q, by_v, by_tau = rd.forward_dynamics_derivatives(model, q, v, tau)
>>> np.allclose(by_tau, np.linalg.inv(rd.mass_matrix(model, q)))
True
""",
    "bias_forces": """
>>> np.allclose(rd.bias_forces(model, q, v), rd.coriolis_forces(model, q, v) + rd.gravity_forces(model, q))
True
""",
    "coriolis_forces": """
>>> rd.coriolis_forces(model, q, [0.0, 0.0]).tolist()
[0.0, 0.0]
""",
    "external_efforts": """
>>> rd.external_efforts(model, q, {"tip": [0, 0, 0, 0, 0, -10.0]}).shape
(2,)
""",
    "inverse_dynamics_derivatives": """
>>> by_q, by_v = rd.inverse_dynamics_derivatives(model, q, v, a)
>>> by_q.shape
(2, 2)
""",
    "InverseKinematics": """
>>> bool(rd.inverse_kinematics(model, "tip", [0.5, 0.0, 0.3], orientation=False).reached)
True
""",
    "inverse_kinematics": """
>>> pose = rd.link_pose(model, q, "tip")
>>> found = rd.inverse_kinematics(model, "tip", pose)
>>> np.allclose(rd.link_pose(model, found.q, "tip"), pose, atol=1e-5)
True
""",
    "coriolis_matrix": """
>>> np.allclose(rd.coriolis_matrix(model, q, v) @ v, rd.coriolis_forces(model, q, v))
True
""",
    "mass_matrix_factors": """
>>> L, D = rd.mass_matrix_factors(model, q)
>>> np.allclose(L.T @ np.diag(D) @ L, rd.mass_matrix(model, q))
True
""",
    "mass_matrix_inverse": """
>>> np.allclose(rd.mass_matrix_inverse(model, q) @ rd.mass_matrix(model, q), np.eye(2))
True
""",
    "BaseParameters": """
>>> base = rd.base_parameters(model)
""",
    "base_parameters": """
>>> base = rd.base_parameters(model)
""",
    "independent_columns": """
>>> split = rd.independent_columns(np.array([[1.0, 2.0], [2.0, 4.0]]), 1e-9)
""",
    "inertial_parameters": """
>>> rd.inertial_parameters(model).shape
(20,)
""",
    "joint_torque_regressor": """
>>> Y = rd.joint_torque_regressor(model, q, v, a)
>>> np.allclose(Y @ rd.inertial_parameters(model) + model.armature * a, rd.inverse_dynamics(model, q, v, a))
True
""",
    "parameter_names": """
>>> rd.parameter_names(model)[0]
'upper_arm.m'
""",
    "clamp_to_limits": """
>>> rd.clamp_to_limits(model, [0.0, 99.0]).tolist()
[0.0, 2.8]
""",
    "difference": """
>>> np.allclose(rd.difference(model, q, q + 0.1), 0.1)
True
""",
    "integrate": """
>>> np.allclose(rd.integrate(model, q, v), q + v)
True
""",
    "neutral": """
>>> rd.neutral(model).tolist()
[0.0, 0.0]
""",
    "random_configuration": """
>>> rd.random_configuration(model, np.random.default_rng(0)).shape
(2,)
""",
    "christoffel_symbols": """
>>> np.allclose(rd.christoffel_symbols(model, q) @ v, rd.coriolis_matrix(model, q, v))
True
""",
    "configuration_space_form": """
>>> B, C = rd.configuration_space_form(model, q)
>>> np.allclose(B @ rd.velocity_products(v) + C @ v**2, rd.coriolis_forces(model, q, v))
True
""",
    "velocity_products": """
>>> rd.velocity_products(np.array([2.0, 3.0])).tolist()
[6.0]
""",
    "analytical_jacobian": """
>>> rd.analytical_jacobian(model, q, "tip").shape
(6, 2)
""",
    "analytical_jacobian_derivative": """
>>> rd.analytical_jacobian_derivative(model, q, v, "tip").shape
(6, 2)
""",
    "jacobian_derivative": """
>>> rd.jacobian_derivative(model, q, v, "tip").shape
(6, 2)
""",
    "link_accelerations": """
>>> rd.link_accelerations(model, q, v, a).shape == (len(model.link_names), 6)
True
""",
    "link_poses": """
>>> rd.link_poses(model, q).shape == (len(model.link_names), 4, 4)
True
""",
    "link_velocities": """
>>> rd.link_velocities(model, q, v).shape == (len(model.link_names), 6)
True
""",
    "operational_space_inertia": """
>>> rd.operational_space_inertia(model, q, "tip", damping=0.1).shape
(6, 6)
""",
    "SubtreeState": """
>>> rd.subtree_state(model, q, v, a, link="forearm").mass
2.5
""",
    "inertia_about": """
>>> rd.inertia_about(model, q, "forearm").shape
(3, 3)
""",
    "subtree_state": """
>>> rd.subtree_state(model, q, v, a, link="forearm").com.shape
(3,)
""",
    "PointMotion": """
>>> rd.motion(model, q, v, a, point_on="tip").velocity.shape
(3,)
""",
    "force_residual": """
>>> np.allclose(rd.force_residual(model, q, v, a, rd.inverse_dynamics(model, q, v, a)), 0.0)
True
""",
    "WrenchBalance": """
>>> balance = rd.wrench_balance(model, q, v, a, "forearm", observer="world")
>>> balance["gravity"].shape
(6,)
""",
    "all_joint_names": """
>>> rd.all_joint_names(model)
('shoulder', 'elbow', 'tip_joint')
""",
    "joint_wrench": """
>>> wrench = rd.joint_wrench(model, q, v, a, "elbow")
>>> wrench.force.shape
(3,)
""",
    "wrench_balance": """
>>> balance = rd.wrench_balance(model, q, v, a, "forearm", observer="upper_arm")
>>> total = balance.joint + sum(balance[part] for part in rd.WRENCH_PARTS if part != "dynamic")
>>> np.allclose(total, balance["dynamic"])
True
""",
    # control
    "CartesianImpedance": """
>>> law = rd.CartesianImpedance(link="tip", stiffness=500.0)
>>> rd.bind(model, law)(q, v, q).shape
(2,)
""",
    "CollisionMonitor": """
>>> monitor = rd.CollisionMonitor(model, threshold=5.0)
>>> monitor.update(np.array([6.0, 0.0]), 0.001), monitor.joint
(True, 0)
""",
    "ComputedTorque": """
>>> law = rd.ComputedTorque(kp=400.0, kd=40.0)
>>> np.allclose(rd.bind(model, law)(q, v, q, v), rd.bias_forces(model, q, v))
True
""",
    "ContactEstimate": """
>>> estimate = rd.ContactEstimate(model, "tip")
""",
    "ControllerOptions": """
>>> rd.ControllerOptions(safe_command="gravity").state_timeout
0.1
""",
    "EffortGate": """
>>> gate = rd.EffortGate(rd.GateSettings(model.effort_limit, np.full(2, 1e4), model.velocity_limit, np.zeros(2)), model.joint_names)
""",
    "FeedforwardPD": """
>>> rd.bind(model, rd.FeedforwardPD(kp=100.0, kd=10.0))(q, v, q).shape
(2,)
""",
    "Friction": """
>>> rd.Friction.of(model).viscous.tolist()
[0.2, 0.1]
""",
    "GateSettings": """
>>> settings = rd.GateSettings(model.effort_limit, np.full(2, 1e4), model.velocity_limit, np.zeros(2))
""",
    "GravityCompensation": """
>>> np.allclose(rd.bind(model, rd.GravityCompensation())(q, np.zeros(2), q), rd.gravity_forces(model, q))
True
""",
    "GuardSettings": """
>>> guards = rd.GuardSettings(effort_scale=0.3)
""",
    "JointController": """
>>> controller = rd.JointController(model, rd.ComputedTorque(kp=400.0, kd=40.0))
>>> controller.activate(0, q, np.zeros(2))
>>> controller.update(1_000_000, q, np.zeros(2)).shape  # 1 ms later
(2,)
""",
    "JointImpedance": """
>>> rd.bind(model, rd.JointImpedance(stiffness=100.0))(q, v, q).shape
(2,)
""",
    "LinearModel": """
>>> A, B = rd.linearize(model, q, v, tau)
>>> A.shape
(4, 4)
""",
    "MomentumObserver": """
>>> rd.MomentumObserver(model, gain=50.0).effort.tolist()
[0.0, 0.0]
""",
    "PDGravity": """
>>> rd.bind(model, rd.PDGravity(kp=100.0, kd=10.0))(q, v, q).shape
(2,)
""",
    "Payload": """
>>> round(rd.carrying(model, rd.Payload("tip", 1.5)).total_mass, 9)
8.0
""",
    "Tolerances": """
>>> tolerances = rd.Tolerances.uniform(2, path=0.1, goal=0.01)
""",
    "Trajectory": """
>>> trajectory = rd.plan_move(model, q, q + 0.5)
>>> trajectory.joint_names
('shoulder', 'elbow')
""",
    "TrajectoryPoint": """
>>> points = [rd.TrajectoryPoint(rd.nanoseconds(2.0), (0.5, 0.5))]
>>> len(rd.Trajectory.from_points(model.joint_names, points))
1
""",
    "bind": """
>>> law = rd.bind(model, rd.ComputedTorque(kp=400.0, kd=40.0))
>>> law(q, v, q + 0.1).shape  # efforts towards q + 0.1
(2,)
""",
    "carrying": """
>>> round(rd.carrying(model, rd.Payload("tip", 1.5)).total_mass, 9)
8.0
""",
    "cartesian_impedance": """
>>> rd.cartesian_impedance(model, q, v, q, link="tip").shape
(2,)
""",
    "computed_torque": """
>>> rd.computed_torque(model, q, v, q + 0.1, kp=400.0, kd=40.0).shape
(2,)
""",
    "contact_wrench": """
>>> efforts = rd.external_efforts(model, q, {"tip": [0, 0, 0, 0, 0, -10.0]})
>>> wrench, residual = rd.contact_wrench(model, q, "tip", efforts, force_only=True)
>>> bool(residual < 0.1)
True
""",
    "discretize": """
>>> Ad, Bd = rd.discretize(*rd.linearize(model, q, v, tau), 1e-3)
>>> Ad.shape
(4, 4)
""",
    "feedforward_pd": """
>>> rd.feedforward_pd(model, q, v, q + 0.1, kp=100.0, kd=10.0).shape
(2,)
""",
    "gravity_compensation": """
>>> np.allclose(rd.gravity_compensation(model, q, np.zeros(2)), rd.gravity_forces(model, q))
True
""",
    "joint_impedance": """
>>> rd.joint_impedance(model, q, v, q + 0.1, stiffness=100.0).shape
(2,)
""",
    "lqr": """
>>> A, B = rd.linearize(model, [np.pi / 2, 0.0], np.zeros(2), np.zeros(2))
>>> rd.lqr(A, B, [10, 10, 1, 1], [1.0, 1.0]).shape  # u = −K x
(2, 4)
""",
    "nanoseconds": """
>>> rd.nanoseconds(1.5)
1500000000
""",
    "pd_gravity": """
>>> rd.pd_gravity(model, q, v, q + 0.1, kp=100.0, kd=10.0).shape
(2,)
""",
    "plan_move": """
>>> trajectory = rd.plan_move(model, q, q + 0.5)
>>> trajectory.duration > 0
True
""",
    # simulation
    "BatchResult": """
>>> result = rd.monte_carlo(model, lambda robot, number: {"mass": robot.total_mass}, 3, spread={"mass": 0.1})
>>> result.figures["mass"].shape
(3,)
""",
    "CenterOfMassPaths": """
>>> run = rd.simulate(model, duration=0.01)
>>> paths = rd.center_of_mass_paths(run)
""",
    "CompliantStops": """
>>> plant = rd.Plant(model, stops=rd.CompliantStops(stiffness=1e4, damping=10.0))
""",
    "GroundContact": """
>>> table = rd.GroundContact("tip", radius=0.01, plane_point=(0, 0, -0.3))
>>> plant = rd.Plant(model, contacts=[table])
""",
    "JointFriction": """
>>> plant = rd.Plant(model, friction=rd.JointFriction(coulomb=0.5))
""",
    "JointPD": """
>>> plant = rd.Plant(model, springs=rd.JointPD(p=10.0, d=1.0))
""",
    "Lockstep": """
>>> pacer = rd.Lockstep()
""",
    "Plant": """
>>> plant = rd.Plant(model, dt=1e-3)
>>> plant.step(rd.gravity_forces(model, plant.q))
>>> round(plant.t, 6)
0.001
""",
    "PlantPath": """
>>> rd.Plant(model).run(np.zeros((100, 2))).q.shape
(100, 2)
""",
    "RigidStops": """
>>> plant = rd.Plant(model, stops=rd.RigidStops(restitution=0.2))
""",
    "SensorSettings": """
>>> sensors = rd.Sensors(model, rd.SensorSettings(position_noise=1e-4, delay=0.002))
""",
    "Sensors": """
>>> sensors = rd.Sensors(model, rd.SensorSettings(position_noise=1e-4, seed=1))
""",
    "SimulationResult": """
>>> rd.simulate(model, duration=0.1).q.shape
(101, 2)
""",
    "make_integrator": """
>>> rd.make_integrator("rk4").order
4
""",
    "monte_carlo": """
>>> result = rd.monte_carlo(model, lambda robot, number: {"mass": robot.total_mass}, 3, spread={"mass": 0.1})
>>> result.figures["mass"].shape
(3,)
""",
    "random_model_error": """
>>> wrong = rd.random_model_error(model, 1, mass=0.1, friction=0.3)
>>> wrong.total_mass != model.total_mass
True
""",
    "run_plants": """
>>> plants = [rd.Plant(model) for _ in range(2)]
>>> rd.run_plants(plants, np.zeros((2, 50, 2))).q.shape
(2, 50, 2)
""",
    # identification
    "DesignSettings": """
>>> rd.DesignSettings(period=10.0, evaluations=20).period
10.0
""",
    "Excitation": """
>>> motion = rd.design_excitation(model, rd.DesignSettings(period=10.0, evaluations=20))
>>> motion.at(0.5).shape
(2,)
""",
    "design_excitation": """
>>> motion = rd.design_excitation(model, rd.DesignSettings(period=10.0, evaluations=20))
>>> motion.at(0.5).shape  # positions after half a second
(2,)
""",
    "effort_regressor": """
>>> rd.effort_regressor(model, q, v, a).shape[-2]
2
""",
    "FrictionTerms": """
>>> terms = rd.FrictionTerms()
""",
    "IdentificationSettings": """
>>> settings = rd.IdentificationSettings(confidence=0.99)
""",
    # export
    "ExportedCode": """
>>> sorted(rd.export_code(model, ["mass_matrix"], prefix="arm").files)
['CMakeLists.txt', 'arm.c', 'arm.h', 'arm_test.c']
""",
    "operation_report": """
>>> "mass_matrix" in rd.operation_report(model, ["mass_matrix"])
True
""",
    "Equations": """
>>> rd.symbolic(model, symbols="auto").M.shape
(2, 2)
""",
    "identify": """
>>> motion = rd.design_excitation(model, rd.DesignSettings(period=10.0, evaluations=20))
>>> arm = rd.random_model_error(model, 1, mass=0.2, friction=0.3)  # stands in for the real one
>>> law = rd.bind(model, rd.ComputedTorque(kp=900.0, kd=60.0))
>>> run = rd.simulate(
...     arm,
...     lambda t, q, v: law(q, v, motion.at(t), motion.at(t, 1), motion.at(t, 2)),
...     q0=motion.at(0.0),
...     duration=10.0,
... )
>>> found = rd.identify(model, run.t, run.q, run.tau)
>>> bool((found.rms < 0.1 * found.prior_rms).all())
True
""",
    "validate": """
>>> check = rd.validate(found, run.t, run.q, run.tau)  # "found" and "run" as in the example of identify
""",
    "friction_file": """
>>> friction = rd.friction_file(found)  # "found" as in the example of identify
""",
    "report_json": """
>>> rd.report_json(found)[0]  # "found" as in the example of identify
'{'
""",
    "report_html": """
>>> rd.report_html(found)[:15]  # "found" as in the example of identify
'<!doctype html>'
""",
    "plot_run": """
>>> figure = rd.plot_run(rd.simulate(model, duration=0.1))
""",
    "plot_identification": """
>>> figure = rd.plot_identification(found)  # "found" as in the example of identify
""",
    "identify_recordings": """
>>> from robot_dynamics_ros.recordings import Recording
>>> recording = Recording.of(model, run.t, run.q, run.v, run.tau)  # "run" as in the example of identify
>>> found_again = rd.identify_recordings(model, [recording])
""",
    "identify_each": """
>>> from robot_dynamics_ros.recordings import Recording
>>> recording = Recording.of(model, run.t, run.q, run.v, run.tau)  # "run" as in the example of identify
>>> len(rd.identify_each(model, [recording]))
1
""",
    "find_torque_constants": """
>>> from robot_dynamics_ros.identification.samples import Motion
>>> currents = run.tau / [50.0, -40.0]  # A, "run" as in the example of identify
>>> motion = Motion.of(model, run.t, run.q, currents)
>>> rd.find_torque_constants(model, motion, {"shoulder": 50.0}).values.round(-1).tolist()
[50.0, -40.0]
""",
    "plot_joint": """
>>> from robot_dynamics_ros.identification.comparison import compare
>>> from robot_dynamics_ros.recordings import Recording
>>> recording = Recording.of(model, run.t, run.q, run.v, run.tau)  # "run", "found" as in the example of identify
>>> figure = rd.plot_joint(found, compare(found, recording), "elbow")
""",
    "inertia_of_mesh": """
>>> corners = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
>>> body = rd.inertia_of_mesh(corners, [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]], density=6.0)
>>> round(float(body.mass), 9)
1.0
""",
    "inertia_of_mesh_file": """
>>> corners = "0 0 0", "1 0 0", "0 1 0", "0 0 1"
>>> faces = "1 3 2", "1 2 4", "1 4 3", "2 3 4"
>>> text = "".join(f"v {x}\\n" for x in corners) + "".join(f"f {x}\\n" for x in faces)
>>> _ = open("wedge.obj", "w").write(text)
>>> round(float(rd.inertia_of_mesh_file("wedge.obj", density=6.0).mass), 9)
1.0
""",
    "estimate_payload_at_rest": """
>>> poses = np.array([[0.0, 0.0], [0.5, 0.5], [1.0, -0.5]])
>>> loaded = rd.carrying(model, rd.Payload("tip", 1.0))
>>> efforts = rd.gravity_forces(loaded, poses)
>>> estimate = rd.estimate_payload_at_rest(model, "tip", poses, efforts)
""",
    "open_view": """
>>> viewer = rd.open_view(model, q)  # a page at viewer.address
>>> viewer.close()
""",
}
"""Public name → doctest."""

AFTER_IDENTIFY = (
    "find_torque_constants",
    "identify_each",
    "identify_recordings",
    "plot_joint",
    "validate",
    "friction_file",
    "report_json",
    "report_html",
    "plot_identification",
)
"""Examples that go on with the names of the example of ``identify``."""
