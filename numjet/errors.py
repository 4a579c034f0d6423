"""Public errors, under the names that JAX users know, and four more that JAX keeps private or lacks."""

from numjet.foundation.errors import (
    ConcretizationTypeError as ConcretizationTypeError, DeletedArrayError as DeletedArrayError,
    InconclusiveDimensionOperation as InconclusiveDimensionOperation,
    JAXIndexError as JAXIndexError, JaxprTypeError as JaxprTypeError, JaxRuntimeError as JaxRuntimeError,
    JAXTypeError as JAXTypeError, KeyReuseError as KeyReuseError, NonConcreteBooleanIndexError as NonConcreteBooleanIndexError,
    TracerArrayConversionError as TracerArrayConversionError, TracerBoolConversionError as TracerBoolConversionError,
    ShapeMismatchError as ShapeMismatchError, ShardingTypeError as ShardingTypeError,
    TracerIntegerConversionError as TracerIntegerConversionError, TypePromotionError as TypePromotionError,
    UnexpectedTracerError as UnexpectedTracerError,
)
