"""The misuses that every implementation refuses, alike in each framework."""

from __future__ import annotations


class ImplError(ValueError):
    """Base of the errors below."""

    # AutoGraph re-raises an exception as its own type only if its constructor is Exception's
    __init__ = Exception.__init__


class ShapeError(ImplError):
    """An array has the wrong rank or size. The message names it, its shape and the expected one."""


class DtypeError(ImplError):
    """An array has the wrong dtype, or two arrays that must share one do not."""


class NonFiniteError(ImplError):
    """NaN or infinity where only finite values make sense. The message names array and index."""


class ConfigError(ImplError):
    """A configuration value is out of range. The message names the field and its range."""


class EmptyBufferError(ImplError):
    """Sampling from a buffer that holds nothing, or fewer rows than were asked for."""


class UnknownEnvironmentError(ImplError):
    """No environment of that id, or its package is not installed."""
