"""Signatures of programs and statements about keys, under the names of JAX's module."""
from numjet.api.key_reuse import (
    Forward as Forward,
    KeyReuseSignature as KeyReuseSignature,
    Sink as Sink,
    Source as Source,
    assert_consumed as assert_consumed,
    assert_unconsumed as assert_unconsumed,
    check_key_reuse as check_key_reuse,
    consume as consume,
    function_type_signature as function_type_signature,
    jaxpr_type_signature as jaxpr_type_signature,
    key_reuse_signatures as key_reuse_signatures,
)
from numjet.lax.rng.key_marks import random_mark_p as consume_p

__all__ = ["consume_p"]
