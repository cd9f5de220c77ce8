"""``python -m robot_dynamics_ros``: the command ``robot_dynamics``."""

import sys

from robot_dynamics_ros.cli.entry import main

sys.exit(main())
