"""Public errors, under the names that JAX users know, and three more that JAX keeps private."""

from numjet.foundation.errors import (
    ConcretizationTypeError as ConcretizationTypeError, InconclusiveDimensionOperation as InconclusiveDimensionOperation,
    JAXIndexError as JAXIndexError, JaxprTypeError as JaxprTypeError, JaxRuntimeError as JaxRuntimeError,
    JAXTypeError as JAXTypeError, KeyReuseError as KeyReuseError, NonConcreteBooleanIndexError as NonConcreteBooleanIndexError,
    TracerArrayConversionError as TracerArrayConversionError, TracerBoolConversionError as TracerBoolConversionError,
    ShapeMismatchError as ShapeMismatchError, ShardingTypeError as ShardingTypeError,
    TracerIntegerConversionError as TracerIntegerConversionError, TypePromotionError as TypePromotionError,
    UnexpectedTracerError as UnexpectedTracerError,
)
