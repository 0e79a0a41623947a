"""Reproductions of published figures, through the public interface of repshape."""
