"""The fault injection of scripts/faults: sequences of faults, which the seed determines."""

import asyncio
import collections
import os
import signal
import time
import uuid

from connection import Connection, NoResponse, NotSent
from history import UNEXPECTED
from http_clients import get_request, silent_client
from proxy import REQUESTS, RESPONSES

# The purposes of places that are written during a switchover: to wait for a lock, and to probe for rejected writes.
LOCKED, PROBE = 1, 2
DIRECTIONS = ((REQUESTS, RESPONSES), (REQUESTS,), (RESPONSES,))


def fault_place_id(instance, purpose):
    return str(uuid.UUID(int=purpose * 16 + instance.number, version=4))


def signal_all(pids, number):
    """Sends a signal to the processes that still exist."""
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


class FaultInjector:
    """Faults one after another: each selected fault once per round, in random order."""

    # The descriptions of the faults, by the names of their methods.
    FAULTS = {}

    def __init__(self, cluster, shared_ids, generator, names, ledger=None, pauses=(0.3, 2)):
        self.cluster = cluster
        # The ids that all clients write to.
        self.shared_ids = shared_ids
        self.random = generator
        self.names = [name for name in names if name in self.FAULTS]
        # For violations in responses to requests of the injector's own.
        self.ledger = ledger
        # The shortest and the longest time between faults.
        self.pauses = pauses
        self.counts = collections.Counter()
        # The begin, end and description of each fault.
        self.log = []
        # Held during a fault.
        self.lock = asyncio.Lock()

    async def run(self, stopping, now):
        while not stopping.is_set() and self.names:
            for name in self.random.sample(self.names, len(self.names)):
                await asyncio.sleep(self.random.uniform(*self.pauses))
                if stopping.is_set():
                    return
                async with self.lock:
                    await self.inject(name, now)

    async def inject(self, name, now):
        begin = now()
        await getattr(self, name)()
        self.counts[self.FAULTS[name]] += 1
        self.log.append((begin, now(), self.FAULTS[name]))

    async def pause(self, minimum, maximum):
        await asyncio.sleep(self.random.uniform(minimum, maximum))


class DatabaseFaults(FaultInjector):
    """Faults of PostgreSQL."""

    FAULTS = {
        "promote": "promotions of the standby after a kill of the primary",
        "switch_over": "planned switchovers to the standby",
        "restart_primary": "restarts of the primary",
        "crash_primary": "crashes of the primary",
        "crash_standby": "crashes of the standby",
        "stop_replication": "stops of replication",
        "stop_backends": "stops of database processes (SIGSTOP)",
        "lock_places": "locks of places",
        "terminate": "terminations of all database sessions",
        "empty_log": "deletions of the change log beside a prepared transaction",
    }

    async def promote(self):
        cluster = self.cluster
        # Commits then wait for the standby, and are lost after the promotion.
        if self.random.random() < 0.7:
            cluster.primary.replication.stall()
            await self.pause(0.3, 2.5)
        await cluster.fail_over(self.random.uniform(0, 0.5))

    async def switch_over(self):
        cluster = self.cluster
        old = cluster.primary
        # Some writes are in progress during the switchover, and are disconnected then.
        await asyncio.gather(*(self.put(Connection(), instance, LOCKED) for instance in cluster.instances))
        lock = old.lock([fault_place_id(instance, LOCKED) for instance in cluster.instances], 3600)
        await self.pause(0.2, 0.5)
        connections = [Connection() for _ in range(3) for _ in cluster.instances]
        waiting = [asyncio.create_task(self.put(*pair, LOCKED)) for pair in zip(connections, cluster.instances * 3)]
        await self.pause(0.1, 0.2)
        # Rejects new writes; those that wait for the standby complete.
        await asyncio.to_thread(old.set, "default_transaction_read_only", "on")
        # Sessions on the old primary must end before the promotion, or reads would be stale. Instances close them after
        # a rejected write; otherwise, and for instances that may not have noticed, they are terminated.
        if self.random.random() < 0.3 or not all(await asyncio.gather(*map(self.rejects_writes, cluster.instances))):
            await asyncio.to_thread(old.terminate_sessions)
        await asyncio.to_thread(old.wait_for_standby)
        await cluster.promote()
        # The old primary continues read-only for a while.
        for connection in connections:
            await self.pause(0, 0.3)
            connection.close()
        await asyncio.gather(*waiting)
        await self.pause(0.5, 2)
        await asyncio.to_thread(old.kill)
        await asyncio.to_thread(lock.wait)
        await cluster.build_standby()

    async def put(self, connection, instance, purpose):
        """Writes a place that no client uses. Returns the status, None without a response, 0 without a connection."""
        place = {"name": "not of any client", "lat": 0, "long": 0, "tags": {"time": str(time.time())}}
        headers = {"Content-Type": "application/json"}
        try:
            path = f"/locations/{fault_place_id(instance, purpose)}"
            return (await connection.request(instance.port, "PUT", path, headers, place, timeout=5)).status
        except NotSent:
            return 0
        except NoResponse:
            return None

    async def rejects_writes(self, instance):
        """Returns True if an instance has noticed that the primary is read-only, or is down."""
        for _ in range(20):
            # Several requests, because one may fail for another reason, such as a cut connection.
            connections = [Connection() for _ in range(5)]
            statuses = await asyncio.gather(*(self.put(connection, instance, PROBE) for connection in connections))
            for connection in connections:
                connection.close()
            if all(status in (0, 503) for status in statuses):
                return True
            if None in statuses:
                return False
            await asyncio.sleep(0.02)
        return False

    async def restart_primary(self):
        await asyncio.to_thread(self.cluster.primary.stop, "fast")
        await self.pause(0, 2)
        await asyncio.to_thread(self.cluster.primary.start)
        await asyncio.to_thread(self.cluster.primary.wait_for_standby)

    async def crash_primary(self):
        await asyncio.to_thread(self.cluster.primary.kill)
        await self.pause(0, 1)
        await asyncio.to_thread(self.cluster.primary.start)
        await asyncio.to_thread(self.cluster.primary.wait_for_standby)

    async def crash_standby(self):
        await asyncio.to_thread(self.cluster.standby.kill)
        await self.pause(0, 3)
        await asyncio.to_thread(self.cluster.standby.start)
        await asyncio.to_thread(self.cluster.primary.wait_for_standby)

    async def stop_replication(self):
        self.cluster.primary.replication.stall()
        await self.pause(0.3, 6)
        if self.random.random() < 0.3:
            self.cluster.primary.replication.cut()
        self.cluster.primary.replication.resume()
        await asyncio.to_thread(self.cluster.primary.wait_for_standby)

    async def stop_backends(self):
        pids = await asyncio.to_thread(self.cluster.primary.backends)
        pids = self.random.sample(pids, min(len(pids), self.random.randrange(1, 6)))
        signal_all(pids, signal.SIGSTOP)
        await self.pause(0.5, 8)
        signal_all(pids, signal.SIGCONT)

    async def lock_places(self):
        ids = self.random.sample(self.shared_ids, self.random.randrange(1, len(self.shared_ids)))
        await asyncio.to_thread(self.cluster.primary.lock(ids, self.random.uniform(0.5, 5)).wait)

    async def terminate(self):
        for _ in range(self.random.randrange(1, 6)):
            await asyncio.to_thread(self.cluster.primary.terminate_sessions)
            await self.pause(0.05, 0.3)

    async def empty_log(self):
        """Empties the change log some times beside a prepared transaction, which ends when the indexes follow again.
        Returns how often."""
        pauses = [self.random.uniform(0, 0.4) for _ in range(self.random.randrange(2, 10))]
        primary = self.cluster.primary
        await asyncio.to_thread(primary.prepare_change)
        try:
            await asyncio.to_thread(primary.empty_log, pauses)
            for instance in self.cluster.instances:
                await instance.wait_for_index()
        finally:
            await asyncio.to_thread(primary.query, "ROLLBACK PREPARED 'held'")
        return len(pauses)


class InstanceFaults(FaultInjector):
    """Faults of the instances and of the network."""

    FAULTS = {
        "cut_database": "cuts of database connections",
        "stop_database": "stalls of database connections",
        "delay_database": "delays of database connections",
        "cut_clients": "cuts of client connections",
        "stop_clients": "stalls of client connections",
        "delay_clients": "delays of client connections",
        "kill_instance": "kills of an instance (SIGKILL)",
        "stop_instance": "stops of an instance (SIGSTOP)",
    }

    def instance(self):
        return self.random.choice(self.cluster.instances)

    def database_proxies(self):
        return self.random.choice(self.cluster.database_proxies)

    async def cut(self, proxies):
        for _ in range(self.random.randrange(1, 4)):
            for proxy in proxies:
                links = list(proxy.links)
                proxy.cut(self.random.sample(links, self.random.randrange(len(links) + 1)))
            await self.pause(0, 0.5)
        if self.random.random() < 0.3:
            for proxy in proxies:
                proxy.is_refusing = True
                proxy.cut()
            await self.pause(0.2, 2)
            for proxy in proxies:
                proxy.is_refusing = False

    async def stall(self, proxies):
        directions = self.random.choice(DIRECTIONS)
        for proxy in proxies:
            proxy.stall(directions)
        await self.pause(0.3, 7)
        is_cut = self.random.random() < 0.4
        for proxy in proxies:
            if is_cut:
                proxy.cut()
            proxy.resume()

    async def delay(self, proxies):
        for proxy in proxies:
            proxy.delay_seconds = self.random.uniform(0.005, 0.15)
        await self.pause(1, 4)
        for proxy in proxies:
            proxy.delay_seconds = 0.0

    async def cut_database(self):
        await self.cut(self.database_proxies())

    async def stop_database(self):
        await self.stall(self.database_proxies())

    async def delay_database(self):
        await self.delay(self.database_proxies())

    async def cut_clients(self):
        await self.cut([self.instance().proxy])

    async def stop_clients(self):
        await self.stall([self.instance().proxy])

    async def delay_clients(self):
        await self.delay([self.instance().proxy])

    async def kill_instance(self):
        instance = self.instance()
        instance.is_up = False
        instance.kill()
        await self.pause(0, 1)
        await instance.start_until_ready()

    async def stop_instance(self):
        instance = self.instance()
        instance.process.send_signal(signal.SIGSTOP)
        await self.pause(0.3, 4)
        instance.process.send_signal(signal.SIGCONT)


class LoadFaults(DatabaseFaults):
    """Faults of clients and operators, and restarts of PostgreSQL, beside a steady load."""

    FAULTS = {
        "open_slow_clients": "crowds of slow clients",
        "send_burst": "bursts of requests",
        "reload": "SIGHUPs",
    } | {name: DatabaseFaults.FAULTS[name] for name in ("restart_primary", "crash_primary", "terminate")}

    async def reload(self):
        for instance in self.cluster.instances:
            instance.process.send_signal(signal.SIGHUP)

    async def open_slow_clients(self):
        request = get_request("/locations?limit=1000&fields=*")
        port = self.random.choice(self.cluster.instances).port
        # Half of them never finish their request, the others never read the responses.
        clients = [silent_client(port, request[:-2] if number % 2 else request * 20) for number in range(100)]
        await asyncio.sleep(3)
        for client in clients:
            client.close()

    async def send_burst(self):
        deadline = time.monotonic() + 2
        port = self.random.choice(self.cluster.instances).port
        await asyncio.gather(*(self.send_requests(port, deadline) for _ in range(64)))

    async def send_requests(self, port, deadline):
        connection = Connection()
        while time.monotonic() < deadline:
            try:
                response = await connection.request(port, "GET", "/locations?lat=1&long=1&limit=100", {}, None)
            except (NotSent, NoResponse):
                continue
            if response.status not in (200, 429, 503, 504):
                self.ledger.report_violation(UNEXPECTED, f"a request of a burst returned {response.status}")
        connection.close()
