"""Plans all claims together, as `judge all` does from nothing, and weighs stand-ins of their runs.

A program of its own (`python planning.py SCALE [PART OF]`: all claims, or every fourth, say):
without the checks of types that tests run under, tracing takes a third of the time, and what is
traced for the plan tells the shapes of answers too.
"""

import json
import math
import sys

from ontogeny import External
from ontogeny.claims.claim import all_claims
from ontogeny.claims.criteria import stand_in
from ontogeny.claims.scale import Scale
from ontogeny.claims.verdict import weigh
from ontogeny.core.process import collect_seldom
from ontogeny.engine.execute import plan
from ontogeny.engine.pools.processes import Processes
from ontogeny.engine.runs import specs


def wrong_with(claim, scale):
    """What is wrong with the verdict that stand-ins give; nothing if it is a verdict."""
    experiments = claim.named(scale)
    if any(isinstance(each, External) for each in experiments.values()):
        return []
    runs = {name: stand_in(name, each, claim.seeds.least) for name, each in experiments.items()}
    verdict = weigh(claim, scale, runs, claim.seeds.least)
    wrong = list(verdict.failures)
    if not verdict.evidence:
        wrong.append("no evidence")
    if any(each.n != claim.seeds.least for each in verdict.evidence):
        wrong.append("evidence of other seeds")
    if not verdict.as_json()["departures"] and scale != Scale.PAPER:
        wrong.append("no departure at a scale that is not the paper's")
    return wrong


def main(scale, part=0, of=1):
    claims = [each for each in all_claims().values() if each.evidence][int(part) :: int(of)]
    wanted = {
        spec.name: spec
        for each in claims
        for name, experiment in each.named(scale).items()
        for spec in specs(f"{each.name}: {name}", experiment, range(2))
    }
    units = plan(list(wanted.values()), Processes(2))
    planned = [spec.name for unit in units for spec in unit.specs]
    return {
        "claims": len(claims),
        "runs": len(wanted),
        "unplanned": sorted(wanted.keys() ^ set(planned)) + planned[len(set(planned)) :],
        "without a cost": [unit.label for unit in units if not 0 < unit.cost < math.inf],
        "wrong": {each.name: wrong for each in claims if (wrong := wrong_with(each, scale))},
    }


if __name__ == "__main__":
    collect_seldom()  # as the command does: traced programs are many objects that live long
    print(json.dumps(main(Scale(sys.argv[1]), *sys.argv[2:])))
