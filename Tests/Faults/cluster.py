"""Instances of Waymark behind proxies, and PostgreSQL with a synchronous standby."""

import asyncio
import http.client
import shutil
import subprocess
import time

from http_clients import metrics
from proxy import Proxy
from servers import Postgres, Waymark

STANDBY = "standby"
# The maximum time for recovery, for a machine with other load.
RECOVERY_TIMEOUT_SECONDS = 120
# The maximum time until an index follows again, and the time for which it must do so without being built again.
INDEX_TIMEOUT_SECONDS, INDEX_STEADY_SECONDS = 120, 3

CHANGE_LOG_DIFFERENCES = """
    SELECT count(*)
    FROM (SELECT DISTINCT ON (point_id) point_id AS id, version, kind FROM changes ORDER BY point_id, sequence DESC) AS last
    FULL JOIN points USING (id)
    WHERE (CASE WHEN kind <> 'deleted' THEN last.version END) IS DISTINCT FROM points.version
"""


class Node(Postgres):
    """A database server of the cluster, primary or standby."""

    def __init__(self, folder, number):
        settings = ("wal_retrieve_retry_interval=200ms", "wal_keep_size=512MB", "max_connections=60", "max_prepared_transactions=4")
        self.name = f"node {number}"
        self.number = number
        # The proxy through which a standby replicates from this node.
        self.replication = None
        super().__init__(folder, f"node{number}", settings)

    def copy_from(self, primary):
        """Replaces the data of this node with those of a standby of the primary."""
        shutil.rmtree(self.data, ignore_errors=True)
        self.create_folder()
        source = f"host=127.0.0.1 port={primary.replication.port} user=postgres application_name={STANDBY}"
        # The warning that it skips the primary's socket is suppressed.
        self.run("pg_basebackup", "-d", source, "-R", "-X", "stream", "-c", "fast", "--no-sync", errors=subprocess.DEVNULL)

    def set(self, setting, value):
        """Changes a setting of the running server."""
        self.query(f"ALTER SYSTEM SET {setting} = '{value}'", "SELECT pg_reload_conf()")

    def wait_for_standby(self):
        """Returns when commits wait for the standby, and the standby has received all earlier ones."""
        deadline = time.monotonic() + RECOVERY_TIMEOUT_SECONDS
        position = None
        while time.monotonic() < deadline:
            if position is None:
                is_synchronous = self.query("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'") == "1"
                position = self.query("SELECT pg_current_wal_flush_lsn()") if is_synchronous else None
            elif self.query(f"SELECT count(*) FROM pg_stat_replication WHERE flush_lsn >= '{position}'") == "1":
                return
            time.sleep(0.1)
        raise TimeoutError("the standby did not catch up")

    def terminate_sessions(self):
        """Terminates all sessions of instances, and returns when they have ended."""
        self.query("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'waymark'")

    def lock(self, ids, seconds):
        """Locks places for a time, so that writes to them wait. Returns the process that holds the locks."""
        names = ",".join(f"'{id}'" for id in ids)
        sql = f"SELECT FROM points WHERE id IN ({names}) FOR UPDATE; SELECT pg_sleep({seconds})"
        return subprocess.Popen(["psql", "-qtAX", self.url, "-c", sql], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def prepare_change(self):
        """Prepares a transaction with a change, which is rolled back later."""
        place = "gen_random_uuid(), 85, 0, 'held'"
        self.query(
            "SET waymark.notifies = off", "BEGIN", f"INSERT INTO points (id, lat, long, name) VALUES ({place})",
            "PREPARE TRANSACTION 'held'")

    def empty_log(self, pauses):
        """Deletes the entries of the change log after each of the pauses."""
        for seconds in pauses:
            time.sleep(seconds)
            self.query("DELETE FROM changes")

    def backends(self):
        """Returns the process identifiers of the sessions of instances."""
        pids = self.query("SELECT pid FROM pg_stat_activity WHERE application_name = 'waymark'")
        return [int(pid) for pid in pids.split()]


class Instance(Waymark):
    """A server behind the proxy that its clients use."""

    def __init__(self, program, environment, number):
        super().__init__(program, environment)
        self.number = number
        self.name = f"instance {number}"
        self.proxy = Proxy(self.port)
        # False if clients should avoid the instance; a few requests are sent to it anyway.
        self.is_up = False

    def wait_until_ready(self):
        try:
            super().wait_until_ready()
        except SystemExit as error:
            raise TimeoutError(f"{self.name}: {error}") from None

    async def start_until_ready(self):
        self.start()
        await asyncio.to_thread(self.wait_until_ready)
        self.is_up = True

    async def index_state(self):
        """Returns a Boolean value that tells whether the index follows the database, and the number of its builds since
        the start; `None` without a response."""
        try:
            found = await asyncio.to_thread(metrics, self.port, timeout=5)
        except (OSError, http.client.HTTPException):
            return None
        return found.get('point_index_phase{phase="following"}') == 1, int(found["point_index_builds_total"])

    async def wait_for_index(self):
        """Returns the number of builds of the index once it has followed the database for a time without another one.

        Readiness would not do: once it was reached, later builds do not change it."""
        deadline = time.monotonic() + INDEX_TIMEOUT_SECONDS
        last, since = None, time.monotonic()
        while time.monotonic() < deadline:
            state = await self.index_state()
            if state is None or not state[0] or state != last:
                last, since = state, time.monotonic()
            elif time.monotonic() - since > INDEX_STEADY_SECONDS:
                return state[1]
            await asyncio.sleep(0.1)
        raise TimeoutError(
            f"{self.name}: the index did not follow the database within {INDEX_TIMEOUT_SECONDS} s; its state is {state}")


class MemoryCluster:
    """An instance with the memory store and its journal."""

    def __init__(self, folder, program, settings={}):
        no_data = folder / "none.ndjson"
        no_data.touch()
        environment = {"POINT_STORE": "memory", "MEMORY_STORE_PATH": str(folder / "places.db"), "DATA_FILE": str(no_data)}
        self.instances = [Instance(program, environment | settings, 0)]
        self.database_proxies = []

    async def start(self):
        await self.instances[0].proxy.start()
        await self.instances[0].start_until_ready()

    async def recover(self):
        self.instances[0].proxy.clear_faults()
        await asyncio.to_thread(self.instances[0].wait_until_ready)

    async def restart(self):
        """Restarts the instance after a kill, so that only durable places are compared."""
        self.instances[0].kill()
        await self.instances[0].start_until_ready()

    def stop(self):
        for instance in self.instances:
            instance.kill()


class PostgresCluster:
    """Two instances over a primary and its standby; each instance connects to each node through a proxy of its own."""

    def __init__(self, folder, program, settings={}):
        self.folder = folder
        self.program = program
        self.settings = settings
        self.instances = []
        self.nodes = []
        self.database_proxies = []

    @property
    def entrances(self):
        """What clients connect to."""
        return self.instances

    @property
    def primary(self):
        return self.nodes[0]

    @property
    def standby(self):
        return self.nodes[1]

    async def start(self):
        self.nodes = [Node(self.folder, number) for number in range(2)]
        for node in self.nodes:
            node.replication = Proxy(node.port)
            await node.replication.start()
        await asyncio.to_thread(self.primary.create)
        await asyncio.to_thread(self.primary.start)
        for number in range(2):
            proxies = [Proxy(node.port) for node in self.nodes]
            for proxy in proxies:
                await proxy.start()
            self.database_proxies.append(proxies)
            hosts = ",".join(f"127.0.0.1:{proxy.port}" for proxy in proxies)
            environment = {
                "POINT_STORE": "postgres",
                "DATABASE_URL": f"postgresql://postgres@{hosts}/postgres?target_session_attrs=read-write&connect_timeout=2",
                "DATABASE_POOL_SIZE": "8",
                "DATABASE_STATEMENT_TIMEOUT_MS": "4000",
                "REQUEST_DEADLINE_MS": "1000",
                "INDEX_PATH": str(self.folder / f"index-{number}"),
            }
            instance = Instance(self.program, environment | self.settings, number)
            await instance.proxy.start()
            self.instances.append(instance)
        await asyncio.to_thread(self.instances[0].command, "migrate")
        await self.build_standby()
        await asyncio.gather(*(instance.start_until_ready() for instance in self.instances))

    async def build_standby(self):
        """Copies the primary to the other node, and makes commits wait for this standby."""
        await asyncio.to_thread(self.standby.copy_from, self.primary)
        await asyncio.to_thread(self.standby.start)
        await asyncio.to_thread(self.primary.set, "synchronous_standby_names", STANDBY)
        await asyncio.to_thread(self.primary.wait_for_standby)

    async def promote(self):
        """Promotes the standby after the primary has stopped. As with a cluster manager, commits do not wait for
        replication until the next standby is built."""
        self.primary.replication.cut()
        self.primary.replication.resume()
        self.nodes.reverse()
        # Before the promotion, because the first writes would wait for a standby that does not exist.
        await asyncio.to_thread(self.primary.set, "synchronous_standby_names", "")
        await asyncio.to_thread(self.primary.run, "pg_ctl", "-w", "-s", "promote")

    async def fail_over(self, seconds=0):
        """Kills the primary, and after some seconds promotes the standby and builds the next one."""
        await asyncio.to_thread(self.primary.kill)
        await asyncio.sleep(seconds)
        await self.promote()
        await self.build_standby()

    async def restore(self):
        """Replaces the primary by a new server with a dump of its database, in which transactions have smaller numbers.
        No one may write meanwhile."""
        await asyncio.to_thread(self.restore_primary)
        await self.build_standby()

    def restore_primary(self):
        primary, dump = self.primary, self.folder / "dump"
        primary.query("DO 'BEGIN FOR i IN 1..20000 LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END'")
        self.standby.kill()
        primary.set("synchronous_standby_names", "")
        younger = Postgres(self.folder, "younger")
        younger.create()
        younger.start()
        for command in (
            ["pg_dump", "-Fc", "-f", dump, primary.url],
            ["pg_restore", "--exit-on-error", "-d", younger.url, dump],
        ):
            subprocess.run([f"{primary.programs}/{command[0]}", *command[1:]], check=True)
        younger.stop("fast")
        primary.kill()
        shutil.rmtree(primary.data)
        younger.data.rename(primary.data)
        dump.unlink()
        primary.start()

    def change_log_differences(self):
        """Returns the number of places whose version differs from their last entry in the change log."""
        return int(self.primary.query(CHANGE_LOG_DIFFERENCES))

    async def recover(self):
        """Clears the faults of all proxies, and returns when all servers are ready."""
        for proxy in self.proxies():
            proxy.clear_faults()
        await asyncio.to_thread(self.primary.wait_for_standby)
        for instance in self.instances:
            await asyncio.to_thread(instance.wait_until_ready)

    async def restart(self):
        """Fails over to the standby, and restarts all servers."""
        await self.fail_over()
        for instance in self.instances:
            instance.kill()
        await asyncio.gather(*(instance.start_until_ready() for instance in self.instances))

    def proxies(self):
        yield from (instance.proxy for instance in self.instances)
        for proxies in self.database_proxies:
            yield from proxies
        yield from (node.replication for node in self.nodes)

    def stop(self):
        for instance in self.instances:
            instance.kill()
        for node in self.nodes:
            if (node.data / "postmaster.pid").exists():
                node.kill()
