"""How every kind of bad input is refused."""

import pytest

from repshape.errors import InputError, RepshapeError


def check_refusal(call, family, sentence):
    """Assert that a call raises an error of ours with exactly this sentence, and no other error."""
    with pytest.raises(RepshapeError) as caught:
        call()
    assert type(caught.value) is family
    assert str(caught.value) == sentence
    assert isinstance(caught.value, ValueError if family is InputError else TypeError)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
