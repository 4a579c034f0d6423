"""The errors that numjet raises, under the names that JAX users know."""

from numjet.foundation.errors import ConcretizationTypeError as ConcretizationTypeError
from numjet.foundation.errors import InconclusiveDimensionOperation as InconclusiveDimensionOperation
from numjet.foundation.errors import JAXIndexError as JAXIndexError
from numjet.foundation.errors import JaxprTypeError as JaxprTypeError
from numjet.foundation.errors import JaxRuntimeError as JaxRuntimeError
from numjet.foundation.errors import JAXTypeError as JAXTypeError
from numjet.foundation.errors import KeyReuseError as KeyReuseError
from numjet.foundation.errors import NonConcreteBooleanIndexError as NonConcreteBooleanIndexError
from numjet.foundation.errors import TracerArrayConversionError as TracerArrayConversionError
from numjet.foundation.errors import TracerBoolConversionError as TracerBoolConversionError
from numjet.foundation.errors import TracerIntegerConversionError as TracerIntegerConversionError
from numjet.foundation.errors import UnexpectedTracerError as UnexpectedTracerError
