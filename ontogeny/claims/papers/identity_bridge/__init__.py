"""Identity Bridge: two hops out of distribution (arXiv 2509.24653).

`setting` has the experiments, `theorems` Theorems 1 and 2 and what descends to them, `figures` the
paper's figures, `forms` which example, question and position compose, `emergence` when, `beyond`
what its reviewers asked for and its relative on out-of-context reasoning.
"""

from . import theorems, figures, forms, beyond  # noqa: F401, I001 in the order in which claims are listed
