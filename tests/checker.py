"""How annotations are checked in tests: a whole number will do for a number."""

from beartype import BeartypeConf, beartype

checked = beartype(conf=BeartypeConf(is_pep484_tower=True))
