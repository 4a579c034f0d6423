"""Tables of numbers that loop IR can look up (operation `lookup`): named, of a length that is a power of two.

Those of mathlib are small enough for the registers of AVX-512, where looking up is one instruction.
"""
from __future__ import annotations

import numpy as np

# 2**(k/16), rounded to nearest, and the relative error of that, 2**(k/16) / entry - 1.
_POWERS = (1.0, 1.0442737824274138, 1.0905077326652577, 1.1387886347566916, 1.189207115002721, 1.241857812073484,
           1.2968395546510096, 1.3542555469368927, 1.4142135623730951, 1.4768261459394993, 1.5422108254079407,
           1.6104903319492543, 1.681792830507429, 1.7562521603732995, 1.8340080864093424, 1.9152065613971474)
_POWERS_MISS = (0.0, 8.189317638195515e-17, -2.7939114859515733e-17, 7.826573258636076e-17, 3.3484623336251524e-17,
                3.750854201303127e-17, 1.9572585293112036e-17, 5.68648095791174e-17, -6.835808657661922e-17,
                -2.3591094770850053e-17, 5.1548301170786783e-17, 1.5341410053603723e-17, 4.875160526227062e-17,
                1.685487290628973e-17, 1.790126907604513e-17, -5.545065618639427e-17)

TABLES: dict[str, np.ndarray] = {"exp2_16": np.array(_POWERS), "exp2_16_miss": np.array(_POWERS_MISS)}
