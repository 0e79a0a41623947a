"""What the studies of trained networks share: images, files, processes, verdicts, commands.

No module here imports PyTorch before one of its functions needs it.
"""
