"""Section 3.2 of the paper: noise and signal geometry of visual cortex, across animals.

Start at `study.measure`, which does the steps one by one.
"""
