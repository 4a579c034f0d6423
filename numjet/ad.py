"""What a caller of `vjp(...)[1].with_refs` wants of each cotangent, and what stands in its place in the result."""
from numjet.api.wanted_cotangents import (
    DidntWant as DidntWant,
    DontWant as DontWant,
    GradRef as GradRef,
    GradValue as GradValue,
)
