"""The coordinates in which networks are solved: factors, reductions and bases."""
