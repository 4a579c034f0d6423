"""Demonstration on real data, by one command: `python -m numjet.demo`.
Imports the public names of numjet, and scikit-learn and matplotlib.
Add a model as a module with its data and its fit, and call it in `__main__`.
"""
