"""What all tests share."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# nothing that a test starts may meet a robot, or another test run, on the network
os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"

settings.register_profile("package", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("package")
