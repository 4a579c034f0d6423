"""Public errors, under the names that JAX users know."""

from numjet.foundation.errors import (
    ConcretizationTypeError as ConcretizationTypeError, InconclusiveDimensionOperation as InconclusiveDimensionOperation,
    JAXIndexError as JAXIndexError, JaxprTypeError as JaxprTypeError, JaxRuntimeError as JaxRuntimeError,
    JAXTypeError as JAXTypeError, KeyReuseError as KeyReuseError, NonConcreteBooleanIndexError as NonConcreteBooleanIndexError,
    TracerArrayConversionError as TracerArrayConversionError, TracerBoolConversionError as TracerBoolConversionError,
    TracerIntegerConversionError as TracerIntegerConversionError, UnexpectedTracerError as UnexpectedTracerError,
)
