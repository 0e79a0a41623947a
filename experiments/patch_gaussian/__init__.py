"""The study of Patch-Gaussian augmentation of Duong et al. (2023): Figure 5, Appendix B.4.

python -m experiments.patch_gaussian train --scale small --images FOLDER --out DIR
"""
