"""What the metrics call besides the native core: starts, transport plans, quadratic programs."""
