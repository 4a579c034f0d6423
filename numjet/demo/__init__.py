"""Demonstration on real data, by one command: `python -m numjet.demo`.
Imports the public names of numjet; matplotlib draws its picture and tqdm its bars where they are installed.
Add a model as a module with its data and its fit, and call it in `__main__`.
"""
