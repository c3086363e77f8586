"""The servers of scripts/chaos: instances of Waymark behind proxies, and a primary of PostgreSQL with a synchronous standby."""

import asyncio
import os
import pathlib
import shutil
import subprocess
import time

from load import Postgres, Waymark
from proxy import Proxy

STANDBY = "standby"
# How long a cluster may take to become whole again on a machine that has other things to do.
PATIENCE_SECONDS = 120


class Node(Postgres):
    """One server of the cluster, primary or standby."""

    def __init__(self, folder, number):
        settings = ("wal_retrieve_retry_interval=200ms", "wal_keep_size=512MB", "max_connections=60")
        self.name = f"node {number}"
        self.number = number
        # What the standby of this node connects to.
        self.replication = None
        super().__init__(folder, f"node{number}", settings)

    def create(self):
        pass

    def create_primary(self):
        super().create()

    def copy_from(self, primary):
        """Becomes a standby of a primary."""
        shutil.rmtree(self.data, ignore_errors=True)
        self.make_folder()
        source = f"host=127.0.0.1 port={primary.replication.port} user=postgres application_name={STANDBY}"
        # It warns of the primary's socket, which it leaves out.
        self.run("pg_basebackup", "-d", source, "-R", "-X", "stream", "-c", "fast", "--no-sync", errors=subprocess.DEVNULL)

    def set(self, setting, value):
        """Changes a setting of the running server."""
        self.query(f"ALTER SYSTEM SET {setting} = '{value}'", "SELECT pg_reload_conf()")

    def wait_for_standby(self):
        """Returns when a commit waits for the standby, and the standby has all that was committed without it."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        position = None
        while time.monotonic() < deadline:
            if position is None:
                is_synchronous = self.query("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'") == "1"
                position = self.query("SELECT pg_current_wal_flush_lsn()") if is_synchronous else None
            elif self.query(f"SELECT count(*) FROM pg_stat_replication WHERE flush_lsn >= '{position}'") == "1":
                return
            time.sleep(0.1)
        raise TimeoutError("the standby did not catch up")

    def end_sessions(self):
        """Ends all sessions of instances, and returns when they are gone."""
        self.query("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'waymark'")

    def lock(self, ids, seconds):
        """Has writes to some places wait for so long. Returns the process that holds the locks."""
        names = ",".join(f"'{id}'" for id in ids)
        sql = f"SELECT FROM points WHERE id IN ({names}) FOR UPDATE; SELECT pg_sleep({seconds})"
        return subprocess.Popen(["psql", "-qtAX", self.url, "-c", sql], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def backends(self):
        """The processes that serve instances."""
        pids = self.query("SELECT pid FROM pg_stat_activity WHERE application_name = 'waymark'")
        return [int(pid) for pid in pids.split()]


class Instance(Waymark):
    """A server with the proxy that its clients use."""

    def __init__(self, program, environment, number):
        super().__init__(program, environment)
        self.number = number
        self.name = f"instance {number}"
        self.proxy = Proxy(self.port)
        # Whether clients should use it; most of them do as they should.
        self.is_up = False

    def wait_until_ready(self):
        try:
            super().wait_until_ready()
        except SystemExit as error:
            raise TimeoutError(f"{self.name}: {error}") from None

    async def bring_up(self):
        self.start()
        await asyncio.to_thread(self.wait_until_ready)
        self.is_up = True

    def end(self):
        if getattr(self, "process", None) and self.process.poll() is None:
            self.kill()


class MemoryCluster:
    """One instance that keeps its places in a file."""

    def __init__(self, folder, program):
        no_data = folder / "none.ndjson"
        no_data.touch()
        environment = {"POINT_STORE": "memory", "MEMORY_STORE_PATH": str(folder / "places.db"), "DATA_FILE": str(no_data)}
        self.instances = [Instance(program, environment, 0)]
        self.database_proxies = []

    async def start(self):
        await self.instances[0].proxy.start()
        await self.instances[0].bring_up()

    async def make_whole(self):
        self.instances[0].proxy.heal()
        await asyncio.to_thread(self.instances[0].wait_until_ready)

    async def restart(self):
        """Kills the instance once more, so that what is compared is what was kept."""
        self.instances[0].kill()
        await self.instances[0].bring_up()

    def end(self):
        for instance in self.instances:
            instance.end()


class PostgresCluster:
    """Two instances over a primary and its standby; each instance reaches each of the two through a proxy of its own."""

    def __init__(self, folder, program):
        self.folder = folder
        self.program = program
        self.instances = []
        self.nodes = []
        self.database_proxies = []

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
        await asyncio.to_thread(self.primary.create_primary)
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
                "MIGRATIONS_PATH": str(pathlib.Path(__file__).parent.parent / "Migrations"),
            }
            instance = Instance(self.program, environment, number)
            await instance.proxy.start()
            self.instances.append(instance)
        await asyncio.to_thread(self.instances[0].command, "migrate")
        await self.build_standby()
        await asyncio.gather(*(instance.bring_up() for instance in self.instances))

    async def build_standby(self):
        """Has the other node copy the primary, and commits wait for it."""
        await asyncio.to_thread(self.standby.copy_from, self.primary)
        await asyncio.to_thread(self.standby.start)
        await asyncio.to_thread(self.primary.set, "synchronous_standby_names", STANDBY)
        await asyncio.to_thread(self.primary.wait_for_standby)

    async def promote(self):
        """Promotes the standby in place of the primary, which is gone. Commits wait for nobody until the next standby has
        been built, as a cluster manager has it: what they leave is not taken for safe before that."""
        self.primary.replication.cut()
        self.primary.replication.resume()
        self.nodes.reverse()
        # Before it takes writes, or the first ones would wait for a standby that there is not.
        await asyncio.to_thread(self.primary.set, "synchronous_standby_names", "")
        await asyncio.to_thread(self.primary.run, "pg_ctl", "-w", "-s", "promote")

    async def make_whole(self):
        """Ends all that holds requests back, and returns when all servers answer."""
        for proxy in self.proxies():
            proxy.heal()
        await asyncio.to_thread(self.primary.wait_for_standby)
        for instance in self.instances:
            await asyncio.to_thread(instance.wait_until_ready)

    async def restart(self):
        """Has the standby take over once more, and all be started again."""
        await asyncio.to_thread(self.primary.kill)
        await self.promote()
        await self.build_standby()
        for instance in self.instances:
            instance.kill()
        await asyncio.gather(*(instance.bring_up() for instance in self.instances))

    def proxies(self):
        yield from (instance.proxy for instance in self.instances)
        for proxies in self.database_proxies:
            yield from proxies
        yield from (node.replication for node in self.nodes)

    def end(self):
        for instance in self.instances:
            instance.end()
        for node in self.nodes:
            if (node.data / "postmaster.pid").exists():
                node.kill()


def signal_all(pids, number):
    """Sends a signal to those processes that are still there."""
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass
