"""The small language models of these tests are causal."""

import pytest
from language_models import FAMILIES, small, tokenizer, torch


@pytest.mark.parametrize("family", FAMILIES)
def test_small_models_read_from_left_to_right(family):
    model = small(family)
    tokens = torch.tensor([tokenizer()("the cat is here")["input_ids"]])
    other = tokens.clone()
    other[0, -1] += 1
    with torch.no_grad():
        first, second = model(tokens).logits, model(other).logits
    torch.testing.assert_close(first[:, :-1], second[:, :-1])
    assert not torch.allclose(first[:, -1], second[:, -1])
