"""The page about arms, made from their profiles; and the table of the guide, which a test compares
with them.
"""

from __future__ import annotations

from robot_dynamics_ros.model.arm_profile import ArmProfile, arm_names, load_arm_profile

WAYS = {"ros2_control": "ros2_control", "vendor_api": "the vendor's library", "none": "none"}
MEANINGS = {
    "torque": "torque of the motor",
    "link_torque": "torque at the link",
    "torque_without_gravity": "torque without gravity",
    "current": "current",
    "commanded": "the command",
    "none": "nothing",
}
HEAD = """# Arms and their drivers

Made from the profiles in `config/arms`. Each fact has its source.
[Find your arm](../how_to/arms.md) explains how to use them.
"""


def table() -> str:
    """The table in which a reader finds an arm, as Markdown."""
    lines = [
        "| arm | `arm:=` | efforts through | gravity by | measured efforts |",
        "|---|---|---|---|---|",
    ]
    for profile in sorted(
        map(load_arm_profile, arm_names()), key=lambda p: (p.vendor.lower(), p.title)
    ):
        way = WAYS[profile.driver.interface]
        meaning = MEANINGS[profile.efforts.measured]
        lines.append(
            f"| {profile.title} | `{profile.name}` | {way} | {profile.efforts.gravity} | "
            f"{meaning} |"
        )
    return "\n".join(lines) + "\n"


def pages() -> dict[str, str]:
    """Path in the site → text."""
    sections = [_section(load_arm_profile(name)) for name in arm_names()]
    return {"reference/arms.md": "\n".join([HEAD, *sections])}


def _section(profile: ArmProfile) -> str:
    driver = profile.driver
    efforts = profile.efforts
    description = profile.description
    facts = [
        ("gravity", f"compensated by the {efforts.gravity}"),
        ("coriolis", f"compensated by the {efforts.coriolis}"),
        (
            "friction",
            f"compensated by {'both' if efforts.friction == 'both' else 'the ' + efforts.friction}",
        ),
        ("measured", MEANINGS[efforts.measured]),
        ("rate", f"{driver.rate:g} Hz"),
        (
            "command",
            f"`{driver.command_interface}`, `{driver.controller}`"
            if driver.controller
            else WAYS[driver.interface],
        ),
        (
            "silence",
            {"hold": "goes on with the last effort", "zero": "no effort", "stop": "stops"}[
                driver.on_silence
            ],
        ),
        ("limits", _limits(profile)),
        ("armature", _armature(profile)),
        ("stamps", f"by the {driver.stamps}"),
        ("velocity", "low-pass" if driver.velocity_time_constant else "as the source says"),
        ("brakes", "yes" if driver.brakes else "no"),
        ("pendant", driver.pendant),
    ]
    hardware = f", with hardware `{description.hardware}`" if description.hardware else ""
    lines = [
        f"## {profile.title}",
        "",
        f"`{profile.name}` · description: `{description.file}` of "
        f"`{description.package}`{hardware} "
        f"([repository]({description.repository})) · driver: [repository]({driver.repository}), "
        f"read in {driver.checked}",
        "",
    ]
    if driver.nearest:
        lines += [f"**The nearest way to command efforts.** {driver.nearest}", ""]
    if efforts.switchable:
        lines += [f"**What can be switched.** {efforts.switchable}", ""]
    lines += ["| fact | value | source |", "|---|---|---|"]
    lines += [
        f"| {name} | {_cell(value)} | {_cell(profile.sources[name])} |" for name, value in facts
    ]
    return "\n".join([*lines, ""])


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<joint>", "JOINT")


def _values(profile: ArmProfile, fact: str) -> list[float | None]:
    return [getattr(joint, fact) for joint in profile.joints]


def _limits(profile: ArmProfile) -> str:
    if not profile.known("effort"):
        return "those of the description"
    text = ", ".join(f"{x:g}" for x in _values(profile, "effort") if x is not None) + " N m"
    rates = set(profile.known("effort_rate").values())
    return text + (f"; {max(rates):g} N m/s" if rates else "")


def _armature(profile: ArmProfile) -> str:
    known = profile.known("armature")
    return ", ".join(f"{x:g}" for x in known.values()) + " kg m²" if known else "not published"
