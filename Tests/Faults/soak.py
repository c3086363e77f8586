"""Sends a mixed load for minutes while faults are injected, and looks for lost writes and growing memory.

The clients and the checker are those of scripts/faults chaos. The faults are restarts and crashes of PostgreSQL, cuts of
its connections, crowds of slow clients, bursts of requests and SIGHUPs. All errors must be documented, and the memory of
an instance may not grow by more than a tenth after the first minute.

  scripts/faults soak                     # ten minutes on each store
  scripts/faults soak --store postgres --seconds 3600 --rate 1000 --seed 7
"""

import asyncio
import collections
import os
import random

from chaos import Scenario, option_parser, run_and_exit
from history import UNEXPECTED
from injectors import LoadFaults
from servers import create_key, memory_mib

INTERVAL_SECONDS = 30
# Memory is compared with its value after this time, and measured between faults, because bursts of clients take memory.
WARM_UP_SECONDS = 60
SETTLING_SECONDS = 2
MAXIMUM_GROWTH = 1.1


class SoakScenario(Scenario):
    def __init__(self):
        # The resident memory of each instance in MiB, by time.
        self.memory = []

    def environment(self, folder, options):
        """Configures the instances with a key that may write."""
        key, file = create_key(options.waymark, folder)
        return {"API_KEYS_FILE": str(file)}, {"Authorization": f"Bearer {key}"}

    def injectors(self, cluster, ledger, shared_ids, options):
        names = list(LoadFaults.FAULTS) if cluster.database_proxies else ["open_slow_clients", "send_burst", "reload"]
        return [LoadFaults(cluster, shared_ids, random.Random(options.seed), names, ledger, pauses=(3, 9))]

    async def monitor(self, cluster, ledger, clients, injectors):
        """Prints a table with a row per half minute."""
        print("  time    requests  writes     errors   p50 ms   p99 ms  files  memory of each instance, MiB", flush=True)
        previous = collections.Counter()
        while True:
            await asyncio.sleep(INTERVAL_SECONDS)
            async with injectors[0].lock:
                await asyncio.sleep(SETTLING_SECONDS)
                pids = [instance.process.pid for instance in cluster.instances if instance.process.poll() is None]
                memory = [memory_mib(pid, "VmRSS") for pid in pids]
                files = sum(len(os.listdir(f"/proc/{pid}/fd")) for pid in pids)
            seconds = int(ledger.now() - ledger.start)
            self.memory.append((seconds, memory))
            latencies = sorted(latency for client in clients for latency in client.latencies)
            totals = collections.Counter(
                writes=sum(client.counts[kind] for client in clients for kind in ("POST", "PUT", "PATCH", "DELETE")),
                errors=sum(sum(client.errors.values()) for client in clients))
            for client in clients:
                client.latencies = []
            new, previous = totals - previous, totals
            p50, p99 = (latencies[int(len(latencies) * part)] * 1000 if latencies else 0 for part in (0.5, 0.99))
            print(
                f"{seconds // 60:3d}:{seconds % 60:02d} {len(latencies):11d} {new['writes']:7d} {new['errors']:10d} {p50:8.1f}"
                f" {p99:8.1f} {files:6d}  {', '.join(f'{mib:.1f}' for mib in memory)}", flush=True)

    def check(self, ledger):
        warm = [memory for seconds, memory in self.memory if seconds >= WARM_UP_SECONDS]
        if len(warm) < 2:
            ledger.report_violation(UNEXPECTED, "the run was too short to measure the growth of memory")
        for first, *later in zip(*warm):
            if later and max(later) > MAXIMUM_GROWTH * first:
                ledger.report_violation(UNEXPECTED, f"memory grew from {first:.1f} to {max(later):.1f} MiB")


if __name__ == "__main__":
    run_and_exit(option_parser(__doc__, seconds=600, rate=500).parse_args(), SoakScenario)
