"""The toy results of Duong et al. (2023): Figures 1 and 2, Supplementary Figures 1 to 4.

python -m experiments.toy [measure | figures | all] --scale small | paper --out DIR
"""
