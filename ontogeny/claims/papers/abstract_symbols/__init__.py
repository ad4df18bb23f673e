"""When can transformers reason with abstract symbols? (arXiv 2310.09753)

`setting` has the experiments, `published` the paper's curves, `figures` its figures, `appendix` its
further experiments, `theorems` what it proves, `beyond` what follows.
"""

from . import figures, theorems, appendix, beyond  # noqa: F401, I001 in the order of claims
