"""What goes wrong in scripts/chaos: a plan that its seed decides, in two lanes that run at the same time."""

import asyncio
import collections
import signal

from cluster import signal_all
from proxy import REQUESTS, RESPONSES

DIRECTIONS = ((REQUESTS, RESPONSES), (REQUESTS,), (RESPONSES,))


class Lane:
    """Faults one after another: each kind once in each round, in random order."""

    def __init__(self, cluster, generator, kinds):
        self.cluster = cluster
        self.random = generator
        self.kinds = [kind for kind in (getattr(self, name, None) for name in kinds) if kind]
        self.counts = collections.Counter()
        self.log = []

    async def run(self, stopping, now):
        while not stopping.is_set() and self.kinds:
            for kind in self.random.sample(self.kinds, len(self.kinds)):
                await asyncio.sleep(self.random.uniform(0.3, 2))
                if stopping.is_set():
                    return
                begin = now()
                await kind()
                self.counts[kind.__doc__] += 1
                self.log.append((begin, now(), kind.__doc__))

    async def pause(self, least, most):
        await asyncio.sleep(self.random.uniform(least, most))


class ServerFaults(Lane):
    """What happens to PostgreSQL."""

    KINDS = ("promote", "switch_over", "crash_primary", "crash_standby", "stop_replication", "stop_backends", "terminate")

    async def promote(self):
        "promotions of the standby, its primary killed"
        cluster = self.cluster
        # What commits meanwhile waits for the standby, and is not there after the promotion.
        if self.random.random() < 0.7:
            cluster.primary.replication.stop()
            await self.pause(0.3, 2.5)
        await asyncio.to_thread(cluster.primary.kill)
        await self.pause(0, 0.5)
        await cluster.promote()
        await cluster.build_standby()

    async def switch_over(self):
        "planned switches to the standby"
        cluster = self.cluster
        old = cluster.primary
        # No more writes are begun; those that are waiting have the standby answer.
        await asyncio.to_thread(old.query, "ALTER SYSTEM SET default_transaction_read_only = on")
        await asyncio.to_thread(old.query, "SELECT pg_reload_conf()")
        await self.pause(0.2, 1)
        await asyncio.to_thread(old.end_sessions)
        await asyncio.to_thread(old.wait_for_standby)
        await cluster.promote()
        # The old one goes on for a while, and takes no writes.
        await self.pause(0.5, 3)
        await asyncio.to_thread(old.kill)
        await cluster.build_standby()

    async def crash_primary(self):
        "crashes of the primary"
        await asyncio.to_thread(self.cluster.primary.kill)
        await self.pause(0, 1)
        await asyncio.to_thread(self.cluster.primary.start)
        await asyncio.to_thread(self.cluster.primary.wait_for_standby)

    async def crash_standby(self):
        "crashes of the standby"
        await asyncio.to_thread(self.cluster.standby.kill)
        await self.pause(0, 3)
        await asyncio.to_thread(self.cluster.standby.start)
        await asyncio.to_thread(self.cluster.primary.wait_for_standby)

    async def stop_replication(self):
        "stops of the standby's stream"
        self.cluster.primary.replication.stop()
        await self.pause(0.3, 6)
        if self.random.random() < 0.3:
            self.cluster.primary.replication.cut()
        self.cluster.primary.replication.resume()
        await asyncio.to_thread(self.cluster.primary.wait_for_standby)

    async def stop_backends(self):
        "stops of database processes (SIGSTOP)"
        pids = await asyncio.to_thread(self.cluster.primary.backends)
        pids = self.random.sample(pids, min(len(pids), self.random.randrange(1, 6)))
        signal_all(pids, signal.SIGSTOP)
        await self.pause(0.5, 8)
        signal_all(pids, signal.SIGCONT)

    async def terminate(self):
        "ends of all database sessions"
        for _ in range(self.random.randrange(1, 6)):
            await asyncio.to_thread(self.cluster.primary.end_sessions)
            await self.pause(0.05, 0.3)


class InstanceFaults(Lane):
    """What happens to the instances and to the network."""

    KINDS = (
        "cut_database", "stop_database", "delay_database", "cut_clients", "stop_clients", "delay_clients", "kill_instance",
        "stop_instance",
    )  # fmt: skip

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

    async def stop(self, proxies):
        directions = self.random.choice(DIRECTIONS)
        for proxy in proxies:
            proxy.stop(directions)
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
        "cuts of database connections"
        await self.cut(self.database_proxies())

    async def stop_database(self):
        "stops of database connections"
        await self.stop(self.database_proxies())

    async def delay_database(self):
        "delays of database connections"
        await self.delay(self.database_proxies())

    async def cut_clients(self):
        "cuts of client connections"
        await self.cut([self.instance().proxy])

    async def stop_clients(self):
        "stops of client connections"
        await self.stop([self.instance().proxy])

    async def delay_clients(self):
        "delays of client connections"
        await self.delay([self.instance().proxy])

    async def kill_instance(self):
        "kills of an instance (SIGKILL)"
        instance = self.instance()
        instance.is_up = False
        instance.kill()
        await self.pause(0, 1)
        await instance.bring_up()

    async def stop_instance(self):
        "stops of an instance (SIGSTOP)"
        instance = self.instance()
        instance.process.send_signal(signal.SIGSTOP)
        await self.pause(0.3, 4)
        instance.process.send_signal(signal.SIGCONT)
