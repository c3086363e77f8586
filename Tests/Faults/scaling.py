"""Restarts, kills and promotes while clients use four instances over one PostgreSQL through nginx, and checks every response.

nginx runs with deploy/nginx/waymark.conf. The clients and the checker are those of scripts/faults consistency. The faults
are rolling restarts (SIGTERM, one instance after another), kills of an instance and of PostgreSQL with a promotion of its
synchronous standby. Exits with 1 on a violation, in the mode bounded on any failed read, which READ_STALE_S should prevent,
and in the mode strict on a failed read that took longer than REQUEST_DEADLINE_MS.

  scripts/faults scaling                                    # both modes
  scripts/faults scaling --mode strict --reads 200000 --rounds 5 --seed 7
"""

import asyncio
import collections
import re
import signal
import statistics
import subprocess
import time

import consistency
from consistency import Cluster, Load, ReadFaults, cancel, finish, reader_parser, run_and_exit
from http_clients import metrics
from lane_clients import Reader
from lanes import WRONG
from servers import MIGRATIONS, create_key, free_port, temporary_folder

CONFIGURATION = MIGRATIONS.parent / "deploy/nginx/waymark.conf"
INSTANCES = 4
MODES = ("strict", "bounded")
STALE_SECONDS = 30
DEADLINE_SECONDS = 2
# What a machine with other load may add to the time of a request that failed at its deadline.
SLACK_SECONDS = 3
# Longer than the interval at which the files of an index are written.
FILES_TIMEOUT_SECONDS = 150


class Balancer:
    """nginx in front of all instances, as the clients' only entrance."""

    name, number, is_up = "nginx", 0, True

    def __init__(self, folder, instances, key):
        self.port = free_port()
        servers = "".join(f"server 127.0.0.1:{instance.port} max_fails=0;\n" for instance in instances)
        text = CONFIGURATION.read_text()
        text = re.sub(r"(    server 127\.0\.0\.1:\d+ max_fails=0;\n)+", servers, text)
        # Without TLS and the redirection to it.
        text = text[: text.index("server {\n    listen 80;")] + text[text.index("server {\n    listen 443"):]
        text = re.sub(r"    listen .*\n", "", text)
        text = re.sub(r"    ssl_.*\n", "", text)
        text = text.replace("    server_name", f"    listen 127.0.0.1:{self.port};\n    server_name")
        # Writes through a proxy need a key.
        text = text.replace(
            "    proxy_http_version", f"    proxy_set_header Authorization \"Bearer {key}\";\n    proxy_http_version")
        temporary = "".join(
            f"{kind}_temp_path {folder}/nginx-{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        self.file = folder / "nginx.conf"
        self.file.write_text(
            f"daemon off; pid {folder}/nginx.pid; error_log stderr crit; worker_processes 1;\n"
            f"events {{ worker_connections 4096; }}\nhttp {{ access_log off; keepalive_requests 1000000000;\n{temporary}{text}}}\n")
        self.process = None

    def start(self):
        self.process = subprocess.Popen(["nginx", "-c", str(self.file)])

    def stop(self):
        if self.process:
            self.process.terminate()
            self.process.wait()


class BalancedCluster(Cluster):
    instance_count = INSTANCES
    # 502 is nginx's, after it has tried all instances.
    failure_statuses = (*Cluster.failure_statuses, 502)

    def __init__(self, folder, program, settings):
        self.key, file = create_key(program, folder)
        super().__init__(folder, program, settings | {"API_KEYS_FILE": str(file)})
        self.balancer = None

    @property
    def entrances(self):
        return [self.balancer]

    def unknown_outcomes(self, method):
        # nginx sends a PUT or DELETE again if its connection broke, and the first may have had an effect.
        return (404, 502) if method == "DELETE" else (502,)

    async def start(self):
        await super().start()
        self.balancer = Balancer(self.folder, self.instances, self.key)
        self.balancer.start()

    async def wait_for_files(self):
        """Returns when each instance has written the files of its index."""
        deadline = time.monotonic() + FILES_TIMEOUT_SECONDS
        for instance in self.instances:
            while not (self.folder / f"index-{instance.number}" / "manifest").exists():
                if time.monotonic() > deadline:
                    raise TimeoutError(f"{instance.name} wrote no files of its index")
                await asyncio.sleep(0.2)

    def stop(self):
        if self.balancer:
            self.balancer.stop()
        super().stop()


class ScalingFaults(ReadFaults):
    FAULTS = {name: name for name in ("restart_instances", "kill_instance", "promote")}

    def __init__(self, load):
        super().__init__(load)
        # The seconds until an instance was ready, and the restarts that continued from files and that did not.
        self.start_seconds = []
        self.starts = collections.Counter()

    def planned(self):
        names = [name for _ in range(self.load.options.rounds) for name in self.FAULTS]
        self.random.shuffle(names)
        return names

    async def start(self, instance):
        begin = time.monotonic()
        await instance.start_until_ready()
        self.start_seconds.append(time.monotonic() - begin)
        found = await asyncio.to_thread(metrics, instance.port)
        self.starts["from files" if found["point_index_loads_total"] else "by building the index"] += 1

    async def restart_instances(self):
        """Restarts all instances by SIGTERM, one after another."""
        for instance in self.cluster.instances:
            await self.cluster.count_reads(instance)
            instance.is_up = False
            instance.process.send_signal(signal.SIGTERM)
            status = await asyncio.to_thread(instance.process.wait, 60)
            if status:
                self.load.ledger.report(WRONG, f"{instance.name} exited with {status}")
            self.cluster.former_reads += self.cluster.reads[instance.number]
            self.cluster.reads[instance.number] = collections.Counter()
            await self.start(instance)

    async def kill_instance(self):
        instance = self.random.choice(self.cluster.instances)
        await self.cluster.kill_instance(instance)
        await self.pause(0, 2)
        await self.start(instance)


async def run(mode, options):
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, asyncio.current_task().cancel)
    settings = {"REQUEST_DEADLINE_MS": str(1000 * DEADLINE_SECONDS)}
    if mode == "bounded":
        settings |= {
            "READ_CONSISTENCY": "bounded", "READ_MAX_STALENESS_MS": str(consistency.MAXIMUM_STALENESS_MS),
            "READ_STALE_S": str(STALE_SECONDS)}
    with temporary_folder("waymark-scaling.") as folder:
        cluster = BalancedCluster(folder, options.waymark, settings)
        tasks = []
        try:
            await cluster.start()
            await cluster.wait_for_files()
            load = Load(mode, cluster, options)
            if mode == "bounded":
                load.stale_seconds = STALE_SECONDS
                # A read with a position waits for it instead of being stale.
                load.positions = collections.deque(maxlen=0)
            began = load.ledger.now()
            readers = [Reader(load, cluster.balancer, f"reader {number}") for number in range(options.readers)]
            faults = ScalingFaults(load)
            tasks = [
                asyncio.create_task(task)
                for task in (load.sample(), faults.run(), *(writer.run() for writer in load.writers))]
            await finish(tasks, [asyncio.create_task(reader.run()) for reader in readers], load, faults, options)
            seconds = load.ledger.now() - began
        finally:
            await cancel(tasks)
            cluster.stop()
    return report(mode, options, load, faults, seconds)


def report(mode, options, load, faults, seconds):
    ledger = load.ledger
    slow = [(took, status) for took, status in load.failed_reads if took > DEADLINE_SECONDS + SLACK_SECONDS]
    for took, status in load.failed_reads if mode == "bounded" else slow:
        ledger.report(WRONG, f"a read failed with {status or 'no response'} after {took:.2f} s")
    for title, counter in (
        ("reads", ledger.checked), ("writes", ledger.writes), ("faults", faults.counts), ("starts", faults.starts),
        ("errors", ledger.errors),
    ):
        print(f"  {title + ':':8} {', '.join(f'{count} {name}' for name, count in sorted(counter.items())) or 'none'}")
    print(f"  seconds until an instance was ready: median {statistics.median(faults.start_seconds):.1f}, "
          f"at most {max(faults.start_seconds):.1f}")
    for kind, text in ledger.violations[: consistency.PRINTED_VIOLATIONS]:
        print(f"  VIOLATION: {kind}: {text}")
    slowest = max((took for took, _ in load.failed_reads), default=0)
    print(
        f"{mode}: {ledger.reads} reads through nginx to {INSTANCES} instances in {seconds:.0f} s, {len(load.failed_reads)} failed, "
        f"the slowest of them after {slowest:.1f} s; {ledger.writes.total()} writes, seed {options.seed}: "
        f"{len(ledger.violations)} violations", flush=True)
    return not ledger.violations


def main():
    parser = reader_parser(__doc__, MODES, reads=100_000)
    parser.add_argument("--rounds", type=int, default=2, help="number of times that each fault is injected in each mode")
    run_and_exit(run, MODES, parser.parse_args())


if __name__ == "__main__":
    main()
