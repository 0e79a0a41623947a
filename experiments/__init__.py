"""The paper's figures, through the public surface of repshape."""
