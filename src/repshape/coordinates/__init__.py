"""What a network becomes before it is solved: factors, reductions and bases."""
