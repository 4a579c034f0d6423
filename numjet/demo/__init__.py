"""The main job of numjet on real data, by one command: `python -m numjet.demo`."""
