"""Stops that a library does not pass on as they are."""

from __future__ import annotations

import signal

import pytest
from pydantic import BaseModel, ValidationError, field_validator

from traces.interrupts import STOPS, handled_stops, raised_stops


def _stop(number: int) -> None:
    signal.raise_signal(number)


@pytest.mark.parametrize("number", STOPS)
def test_a_stop_that_a_library_turned_into_another_exception_is_a_stop(number: int) -> None:
    """As Pydantic does with one that comes while it builds a validator."""
    with handled_stops(), pytest.raises(KeyboardInterrupt), raised_stops():
        try:
            _stop(number)
        except KeyboardInterrupt as error:
            raise ValueError("a validator could not be built") from error


def test_other_exceptions_stay_as_they_are() -> None:
    class Positive(BaseModel):
        value: int

        @field_validator("value")
        @classmethod
        def _is_positive(cls, value: int) -> int:
            if value <= 0:
                raise ValueError("must be above 0")
            return value

    with handled_stops(), pytest.raises(ValidationError), raised_stops():
        Positive(value=-1)


def test_an_exception_after_an_earlier_stop_is_none() -> None:
    with handled_stops():
        with pytest.raises(KeyboardInterrupt), raised_stops():
            _stop(signal.SIGTERM)
        with pytest.raises(ValueError, match="later"), raised_stops():
            raise ValueError("later")
