"""Quality of service of every topic, in one place."""

from __future__ import annotations

from rclpy.event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy


def _keep_last(
    depth: int,
    reliability: ReliabilityPolicy,
    durability: DurabilityPolicy,
) -> QoSProfile:
    return QoSProfile(
        history=HistoryPolicy.KEEP_LAST, depth=depth, reliability=reliability, durability=durability
    )


# Subscriptions that want the newest value and nothing older; match publishers of any reliability.
NEWEST = _keep_last(1, ReliabilityPolicy.BEST_EFFORT, DurabilityPolicy.VOLATILE)

# Periodic values for anybody: reliable, so that subscriptions of either kind match.
STATE = _keep_last(10, ReliabilityPolicy.RELIABLE, DurabilityPolicy.VOLATILE)

# Efforts to hardware, as forward_command_controller and topic-based hardware expect them.
COMMAND = _keep_last(1, ReliabilityPolicy.RELIABLE, DurabilityPolicy.VOLATILE)

# Things that happen once and must arrive: trajectories.
EVENT = _keep_last(10, ReliabilityPolicy.RELIABLE, DurabilityPolicy.VOLATILE)

# Services that many may call at once; with rclpy's ten, requests that arrive together are lost
# without an answer.
MANY_REQUESTS = _keep_last(1000, ReliabilityPolicy.RELIABLE, DurabilityPolicy.VOLATILE)

# robot_description: late joiners get the last one.
LATCHED = _keep_last(1, ReliabilityPolicy.RELIABLE, DurabilityPolicy.TRANSIENT_LOCAL)

# Without handlers for incompatible partners, which these qualities of service do not have: every
# handler is one more
# thing that the executor looks at in every cycle.
QUIET_PUBLISHER = PublisherEventCallbacks(use_default_callbacks=False)
QUIET_SUBSCRIPTION = SubscriptionEventCallbacks(use_default_callbacks=False)
