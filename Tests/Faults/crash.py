"""Kills Waymark and PostgreSQL with -9 while clients write, and looks for lost writes.

The clients and the checker are those of scripts/faults chaos, at a higher rate: no acknowledged write may be lost, torn or
applied twice, and the change log must match the places.

  scripts/faults crash                    # a minute on each store
  scripts/faults crash --store memory --seconds 600 --rate 2000 --seed 7
"""

import random

from chaos import Scenario, option_parser, run_and_exit
from injectors import DatabaseFaults, InstanceFaults


class CrashScenario(Scenario):
    def injectors(self, cluster, ledger, shared_ids, options):
        generator = random.Random(options.seed)
        faults = [InstanceFaults(cluster, shared_ids, generator, ["kill_instance"], pauses=(1, 8))]
        if cluster.database_proxies:
            faults.append(DatabaseFaults(cluster, shared_ids, generator, ["crash_primary"], pauses=(1, 8)))
        return faults


if __name__ == "__main__":
    run_and_exit(option_parser(__doc__, seconds=60, rate=1000).parse_args(), CrashScenario)
