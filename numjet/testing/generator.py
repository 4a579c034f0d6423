"""The generator of random programs with all productions of the grammar."""

from numjet.testing import grammar_numpy as grammar_numpy, grammar_ops as grammar_ops, grammar_programs as grammar_programs
from numjet.testing.grammar import PRODUCTIONS as PRODUCTIONS, Generator as Generator
