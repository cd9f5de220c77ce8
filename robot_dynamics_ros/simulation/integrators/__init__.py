"""Methods that advance the plant in time."""
