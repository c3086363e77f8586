"""What goes wrong in scripts/chaos: a plan that its seed decides, in two lanes that run at the same time."""

import asyncio
import collections
import signal
import time
import uuid

from chaos_wire import NotSent, Unanswered, Wire
from cluster import signal_all
from proxy import REQUESTS, RESPONSES

# What the places are for that faults have the instances write.
WAITING, REFUSED = 1, 2
DIRECTIONS = ((REQUESTS, RESPONSES), (REQUESTS,), (RESPONSES,))


def own_id(instance, purpose):
    return str(uuid.UUID(int=purpose * 16 + instance.number, version=4))


class Lane:
    """Faults one after another: each kind once in each round, in random order."""

    def __init__(self, cluster, shared_ids, generator, kinds):
        self.cluster = cluster
        # Places that many clients write to.
        self.shared_ids = shared_ids
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

    KINDS = (
        "promote", "switch_over", "crash_primary", "crash_standby", "stop_replication", "stop_backends", "lock_places",
        "terminate",
    )  # fmt: skip

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
        # Some writes are under way when the servers change, and are hung up on then.
        await asyncio.gather(*(self.put(Wire(), instance, WAITING) for instance in cluster.instances))
        lock = old.lock([own_id(instance, WAITING) for instance in cluster.instances], 3600)
        await self.pause(0.2, 0.5)
        wires = [Wire() for _ in range(3) for _ in cluster.instances]
        waiting = [asyncio.create_task(self.put(*pair, WAITING)) for pair in zip(wires, cluster.instances * 3)]
        await self.pause(0.1, 0.2)
        # No more writes are begun; those that wait for the standby end.
        await asyncio.to_thread(old.set, "default_transaction_read_only", "on")
        # Either its sessions are ended, or it is the instances that let go of them: where a write was refused, nothing is to
        # be read from there any more. An instance that can't be asked may not have noticed.
        if self.random.random() < 0.3 or not all(await asyncio.gather(*map(self.is_refused, cluster.instances))):
            await asyncio.to_thread(old.end_sessions)
        await asyncio.to_thread(old.wait_for_standby)
        await cluster.promote()
        # The old one goes on for a while, and takes no writes.
        for wire in wires:
            await self.pause(0, 0.3)
            wire.close()
        await asyncio.gather(*waiting)
        await self.pause(0.5, 2)
        await asyncio.to_thread(old.kill)
        await asyncio.to_thread(lock.wait)
        await cluster.build_standby()

    async def put(self, wire, instance, purpose):
        """Has an instance write a place that no client knows of. Returns the status; None where there was no response, 0
        where nobody was there to ask."""
        place = {"name": "not of any client", "lat": 0, "long": 0, "tags": {"time": str(time.time())}}
        headers = {"Content-Type": "application/json"}
        try:
            path = f"/locations/{own_id(instance, purpose)}"
            return (await wire.ask(instance.port, "PUT", path, headers, place, patience=5)).status
        except NotSent:
            return 0
        except Unanswered:
            return None

    async def is_refused(self, instance):
        """Whether an instance has noticed that the primary takes no writes."""
        for _ in range(20):
            # Some may be refused for another reason, such as a connection that was cut.
            wires = [Wire() for _ in range(5)]
            statuses = await asyncio.gather(*(self.put(wire, instance, REFUSED) for wire in wires))
            for wire in wires:
                wire.close()
            # Where nobody was there, there are no sessions.
            if all(status in (0, 503) for status in statuses):
                return True
            if None in statuses:
                return False
            await asyncio.sleep(0.02)
        return False

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

    async def lock_places(self):
        "locks of places"
        ids = self.random.sample(self.shared_ids, self.random.randrange(1, len(self.shared_ids)))
        await asyncio.to_thread(self.cluster.primary.lock(ids, self.random.uniform(0.5, 5)).wait)

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
