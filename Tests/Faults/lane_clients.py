"""The writers and readers of scripts/faults consistency: HTTP requests to two instances, and SQL sessions."""

import asyncio
import collections
import json
import re

from connection import Connection, NoResponse, NotSent
from http_clients import problem_code
from lanes import WRONG

# The time after which a write without a response takes effect no more: longer than the statement timeout of instances.
SETTLING_SECONDS = 6
READ_TIMEOUT_SECONDS = 20
SMALL_PLACES = 14
# More places than the index reads of the change log at once.
BULK_PLACES = 1300
# The number of places in a list of a part of a large lane.
STRIP_PLACES = 100
# The most places of a lane with ids from the server.
POSTED_PLACES = 6
# One of so many commits of a small lane has long tags, of more bytes than a list from PostgreSQL includes at once.
LONG_TAGS_INTERVAL = 5
LONG_TAGS = {f"l{number}": f"{number} and so on, " * 130 for number in range(4)}
# A position that a write returned, and the commits of all lanes that a read with it must contain.
Position = collections.namedtuple("Position", "text lows")

JSON = {"Content-Type": "application/json"}
UPSERT = """
    INSERT INTO points (id, lat, long, name, tags, source, source_id) VALUES {}
    ON CONFLICT (id) DO UPDATE SET name = excluded.name, tags = excluded.tags
"""
MARKER = "end of the response"


def slot_id(lane, number):
    return f"{lane:08x}-0000-4000-8000-{number:012x}"


def slot_name(slot, commit):
    return f"{slot.lane.number}.{commit}.{slot.number}"


def source_of(lane):
    return f"lane{lane.number}"


def latitude_of(number):
    return number - 80


def fill(lane, count):
    """Adds the places of a lane, in a row from west to east."""
    for number in range(count):
        lane.add(number, slot_id(lane.number, number), latitude_of(lane.number), number / 1000)


def tags_of(slot, commit):
    is_long = commit % LONG_TAGS_INTERVAL == 0 and len(slot.lane.slots) < BULK_PLACES
    return (LONG_TAGS if is_long else {}) | {"t": slot_name(slot, commit)}


def body_of(slot, commit, **more):
    name = slot_name(slot, commit)
    body = {"name": name, "lat": slot.lat, "long": slot.long, "tags": tags_of(slot, commit)}
    return body | {"source": source_of(slot.lane), "sourceId": str(slot.number)} | more


def row_of(slot, commit):
    """Returns the place as SQL values."""
    name = slot_name(slot, commit)
    tags = json.dumps(tags_of(slot, commit), separators=(",", ":"))
    return f"('{slot.id}', {slot.lat}, {slot.long}, '{name}', '{tags}', '{source_of(slot.lane)}', '{slot.number}')"


# SQL sessions


class SessionLost(Exception):
    """The connection of a session ended, and its transaction was rolled back unless it was being committed."""


class StatementFailed(Exception):
    """A statement failed, and the session is still connected."""


class Session:
    """A psql process with one connection to the primary."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.process = None

    async def connect(self):
        """Returns when there is a connection."""
        while True:
            self.close()
            command = ["psql", "-qtAX", "-v", "ON_ERROR_STOP=0", self.cluster.sessions_url]
            self.process = await asyncio.create_subprocess_exec(
                *command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
                limit=1 << 22)
            try:
                await self.run("SET statement_timeout = '5s'")
                return
            except (SessionLost, StatementFailed):
                await asyncio.sleep(0.1)

    def close(self):
        if self.process and self.process.returncode is None:
            self.process.kill()
        self.process = None

    async def run(self, sql):
        """Runs statements and returns the lines of the output."""
        if self.process is None:
            raise SessionLost
        lines = []
        try:
            self.process.stdin.write(f"{sql};\n\\echo '{MARKER}'\n".encode())
            await self.process.stdin.drain()
            while True:
                line = (await asyncio.wait_for(self.process.stdout.readline(), 30)).decode().rstrip("\n")
                if line == MARKER:
                    break
                if not line and self.process.stdout.at_eof():
                    raise SessionLost
                lines.append(line)
        except (OSError, asyncio.TimeoutError) as error:
            self.close()
            raise SessionLost from error
        except SessionLost:
            self.close()
            raise
        text = "\n".join(lines)
        if any(words in text for words in ("connection to the server was lost", "FATAL:", "closed the connection")):
            self.close()
            raise SessionLost
        if "ERROR:" in text:
            raise StatementFailed(text)
        return lines


# Writers


class Writer:
    """The writer of a lane, one commit after another."""

    def __init__(self, load, lane, seed):
        self.load = load
        self.ledger = load.ledger
        self.cluster = load.cluster
        self.lane = lane
        self.random = load.generator(seed)
        self.session = Session(load.cluster)
        self.connection = Connection()
        # Held while a change is in progress.
        self.lock = asyncio.Lock()
        # True while the outcome of a change is unknown.
        self.is_settling = False
        self.prober = Prober(load, seed)

    async def run(self):
        try:
            while not self.load.stopping:
                await self.load.gate.wait()
                async with self.lock:
                    await self.step()
                await asyncio.sleep(self.pause())
        finally:
            self.session.close()

    def pause(self):
        return self.random.uniform(0, 0.03)

    def present(self):
        return [slot for slot in self.lane.slots.values() if slot.value is not None]

    def absent(self):
        return [slot for slot in self.lane.slots.values() if slot.value is None and slot.id is not None]

    def some(self, slots, most):
        return self.random.sample(slots, min(len(slots), self.random.randrange(1, most + 1)))

    def acknowledge(self, commit, kind):
        changes = self.lane.pending[commit]
        self.lane.acknowledge(commit)
        self.ledger.writes[kind] += 1
        self.ledger.recent.extend(list(changes)[:10])

    async def send(self, kind, method, path, headers, body, changes, commit, is_atomic=True):
        """Sends a write to one of the entrances, records its outcome, and reads the result."""
        instance = self.random.choice([each for each in self.cluster.entrances if each.is_up] or self.cluster.entrances)
        self.lane.begin(commit, changes, is_atomic)
        lows = self.ledger.lows()
        response = None
        try:
            response = await self.connection.request(instance.port, method, path, headers, body)
        except NotSent:
            self.ledger.reject(self.lane, commit)
            await asyncio.sleep(0.05)
            return None
        except NoResponse:
            self.ledger.errors["write without a response"] += 1
            await self.settle(commit)
            return None
        if response.status // 100 == 2:
            slot = next(iter(changes))
            if method == "POST" and slot.id is None:
                slot.id = response.headers["location"].rsplit("/", 1)[1]
            self.acknowledge(commit, kind)
            position = None
            if "waymark-position" in response.headers:
                lows[self.lane.index] = commit
                position = Position(response.headers["waymark-position"], lows)
                self.load.positions.append(position)
            await self.prober.probe(slot, position, instance)
            return response
        text = response.body.decode(errors="replace")
        self.ledger.errors[f"write {response.status}"] += 1
        if "outcome-unknown" in text or not is_atomic:
            await self.settle(commit)
        elif response.status in self.cluster.unknown_outcomes(method):
            await self.settle(commit)
        elif response.status in (429, 503, 504):
            self.ledger.reject(self.lane, commit)
            await asyncio.sleep(0.05)
        else:
            self.ledger.report(WRONG, f"{method} {path} returned {response.status} {text[:200]}")
            await self.settle(commit)
        return None

    async def settle(self, commit):
        """Finds out whether a commit of unknown outcome took effect."""
        self.is_settling = True
        await asyncio.sleep(SETTLING_SECONDS)
        rows = await self.rows()
        self.is_settling = False
        values = {}
        for number, id, name in rows:
            slot = self.lane.slots.get(int(number))
            if slot:
                values[slot] = int(name.split(".")[1])
                slot.id = slot.id or id
        self.ledger.settle(self.lane, commit, values)
        self.ledger.writes["unknown"] += 1

    async def rows(self):
        """Returns the places of the lane in the database."""
        while True:
            try:
                if self.session.process is None:
                    await self.session.connect()
                sql = f"SELECT source_id, id, name FROM points WHERE source = '{source_of(self.lane)}'"
                return [line.split("|") for line in await self.session.run(sql)]
            except (SessionLost, StatementFailed):
                await asyncio.sleep(0.2)

    async def forget_edits(self):
        """Forgets the edits of the lane, so that an import replaces its places and brings back the deleted ones."""
        while True:
            try:
                if self.session.process is None:
                    await self.session.connect()
                return await self.session.run(f"DELETE FROM edits WHERE source = '{source_of(self.lane)}'")
            except (SessionLost, StatementFailed):
                await asyncio.sleep(0.2)

    async def commit(self, kind, sql, changes, commit):
        """Runs the statement that commits a change in a session, records its outcome, and reads the result."""
        self.lane.begin(commit, changes)
        try:
            await self.session.run(sql)
        except StatementFailed:
            self.ledger.errors["SQL error"] += 1
            self.ledger.reject(self.lane, commit)
        except SessionLost:
            self.ledger.errors["SQL session lost"] += 1
            await self.settle(commit)
        else:
            self.acknowledge(commit, kind)
            await self.prober.probe(self.random.choice(list(changes)))


class PlaceWriter(Writer):
    """Creates, replaces, patches, deletes and imports places over HTTP."""

    async def step(self):
        # Places with an id from the server may have been removed by TRUNCATE.
        for slot in list(self.lane.slots.values()):
            self.drop(slot)
        draw = self.random.random()
        present, absent = self.present(), self.absent()
        posted = [slot for slot in self.lane.slots.values() if slot.number >= SMALL_PLACES]
        if draw < 0.12:
            await self.import_some()
        elif draw < 0.2 and len(posted) < POSTED_PLACES:
            await self.post()
        elif draw < 0.55 and present:
            await self.replace(self.random.choice(present))
        elif draw < 0.75 and present:
            await self.delete(self.random.choice(present))
        else:
            absent = [slot for slot in absent if slot not in posted]
            await self.replace(self.random.choice(absent or present))

    async def replace(self, slot):
        commit = self.lane.reserve()
        method, headers = "PUT", JSON
        if slot.value is not None and self.random.random() < 0.3:
            method, headers = "PATCH", {"Content-Type": "application/merge-patch+json"}
        await self.send(method, method, f"/locations/{slot.id}", headers, body_of(slot, commit), {slot: True}, commit)

    async def delete(self, slot):
        await self.send("DELETE", "DELETE", f"/locations/{slot.id}", {}, None, {slot: False}, self.lane.reserve())
        self.drop(slot)

    def drop(self, slot):
        """Removes a place with an id from the server from the lane, after it was deleted."""
        if slot.number >= SMALL_PLACES and slot.value is None:
            del self.lane.slots[slot.number]
            self.load.retired.append(slot)

    async def post(self):
        commit = self.lane.reserve()
        slot = self.lane.add(SMALL_PLACES + commit, None, latitude_of(self.lane.number), (SMALL_PLACES + commit % 20) / 1000)
        await self.send("POST", "POST", "/locations", JSON, body_of(slot, commit), {slot: True}, commit)
        self.drop(slot)

    async def import_some(self):
        slots = [slot for slot in self.lane.slots.values() if slot.number < SMALL_PLACES]
        slots = self.some(slots, 10)
        await self.forget_edits()
        commit = self.lane.reserve()
        rows = "".join(json.dumps(body_of(slot, commit, id=slot.id)) + "\n" for slot in slots)
        headers = {"Content-Type": "application/x-ndjson"}
        path = "/locations/import?mode=" + self.random.choice(("atomic", "partial"))
        await self.send("import", "POST", path, headers, rows, dict.fromkeys(slots, True), commit)


class SessionWriter(Writer):
    """Writes places by statements and transactions in an SQL session."""

    async def step(self):
        try:
            if self.session.process is None:
                await self.session.connect()
            if self.random.random() < 0.4:
                await self.statement()
            else:
                await self.transaction()
        except SessionLost:
            self.ledger.errors["SQL session lost"] += 1
        except StatementFailed:
            self.ledger.errors["SQL error"] += 1
            self.session.close()

    def change(self, commit, most=5):
        """Returns a random statement and the changes it makes, by slot."""
        draw = self.random.random()
        present, absent = self.present(), self.absent()
        if draw < 0.5 or not present:
            slots = self.some(present + absent, most)
            return UPSERT.format(", ".join(row_of(slot, commit) for slot in slots)), dict.fromkeys(slots, True)
        if draw < 0.7:
            slots = self.some(present, most)
            return f"DELETE FROM points WHERE id IN ({ids_of(slots)})", dict.fromkeys(slots, False)
        if draw < 0.85 or not absent:
            slots = self.some(present, most)
            name = f"'{self.lane.number}.{commit}.' || source_id"
            sql = f"UPDATE points SET name = {name}, tags = json_build_object('t', {name}) WHERE id IN ({ids_of(slots)})"
            return sql, dict.fromkeys(slots, True)
        # Gives a place the id, position and origin of another one.
        old, new = self.random.choice(present), self.random.choice(absent)
        name = slot_name(new, commit)
        sql = f"""
            UPDATE points SET id = '{new.id}', long = {new.long}, source_id = '{new.number}', name = '{name}',
              tags = json_build_object('t', '{name}')
            WHERE id = '{old.id}'"""
        return sql, {old: False, new: True}

    async def statement(self):
        commit = self.lane.reserve()
        sql, changes = self.change(commit)
        await self.commit("statement", sql, changes, commit)

    async def transaction(self):
        """Writes places in a transaction that may be long, with savepoints, and rolls some of it or all of it back."""
        is_long = self.random.random() < 0.2
        level = self.random.choice(("READ COMMITTED", "REPEATABLE READ"))
        run = self.session.run
        await run(f"BEGIN ISOLATION LEVEL {level}")
        if self.random.random() < 0.1:
            await run("SET LOCAL session_replication_role = replica")
        # Content that the last statement of the transaction replaces, or that is rolled back.
        if self.random.random() < 0.5:
            slots = self.some(self.present(), 3) if self.present() else []
            burnt = self.lane.burn()
            for slot in slots:
                await run(UPSERT.format(row_of(slot, burnt)))
        else:
            slots = []
        if self.random.random() < 0.5:
            await run("SAVEPOINT one")
            await run(self.change(self.lane.burn())[0])
            if self.random.random() < 0.5:
                await run("SAVEPOINT two")
                await run(self.change(self.lane.burn())[0])
                await self.wait(is_long)
                await run("RELEASE two")
            await run("ROLLBACK TO one")
        await self.wait(is_long)
        commit = self.lane.reserve()
        sql, changes = self.change(commit)
        uses_savepoint = self.random.random() < 0.3
        await run(f"SAVEPOINT kept; {sql}; RELEASE kept" if uses_savepoint else sql)
        rest = [slot for slot in slots if slot not in changes]
        if rest:
            await run(UPSERT.format(", ".join(row_of(slot, commit) for slot in rest)))
            changes = changes | dict.fromkeys(rest, True)
        await self.wait(is_long)
        if self.random.random() < 0.15:
            self.lane.burnt.add(commit)
            await run("ROLLBACK")
            self.ledger.writes["rollback"] += 1
            return
        await self.commit("long transaction" if is_long else "transaction", "COMMIT", changes, commit)

    async def wait(self, is_long):
        await asyncio.sleep(self.random.uniform(0, 1) if is_long else self.random.uniform(0, 0.01))


def ids_of(slots):
    return ", ".join(f"'{slot.id}'" for slot in slots)


class BulkWriter(Writer):
    """Imports, updates and deletes more places at once than the index reads of the change log."""

    def pause(self):
        return self.random.uniform(0.3, 3)

    async def step(self):
        absent = self.absent()
        if len(absent) > STRIP_PLACES:
            await self.random.choice((self.import_all, self.insert_all))()
        else:
            steps = (self.import_all, self.delete_source, self.update_all, self.delete_all, self.update_part, self.update_part)
            await self.random.choice(steps)()

    async def import_all(self):
        slots = list(self.lane.slots.values())
        commit = self.lane.reserve()
        rows = "".join(json.dumps(body_of(slot, commit, id=slot.id)) + "\n" for slot in slots)
        headers = {"Content-Type": "application/x-ndjson"}
        path = "/locations/import?mode=" + self.random.choice(("atomic", "partial"))
        await self.send("large import", "POST", path, headers, rows, dict.fromkeys(slots, True), commit)

    async def delete_source(self):
        changes = dict.fromkeys(self.present(), False)
        path = f"/locations?source={source_of(self.lane)}&confirm=true"
        await self.send("deletion of a source", "DELETE", path, {}, None, changes, self.lane.reserve(), is_atomic=False)

    async def insert_all(self):
        slots = list(self.lane.slots.values())
        commit = self.lane.reserve()
        sql = UPSERT.format(", ".join(row_of(slot, commit) for slot in slots))
        await self.in_session("large statement", sql, dict.fromkeys(slots, True), commit)

    async def update_all(self):
        await self.update("true", self.present())

    async def update_part(self):
        first = self.random.randrange(BULK_PLACES - STRIP_PLACES)
        last = first + self.random.randrange(2, 3 * STRIP_PLACES)
        slots = [slot for slot in self.present() if first <= slot.number < last]
        if slots:
            await self.update(f"source_id::int >= {first} AND source_id::int < {last}", slots)

    async def update(self, condition, slots):
        commit = self.lane.reserve()
        name = f"'{self.lane.number}.{commit}.' || source_id"
        sql = f"""
            UPDATE points SET name = {name}, tags = json_build_object('t', {name})
            WHERE source = '{source_of(self.lane)}' AND {condition}"""
        await self.in_session("large statement", sql, dict.fromkeys(slots, True), commit)

    async def delete_all(self):
        changes = dict.fromkeys(self.present(), False)
        sql = f"DELETE FROM points WHERE source = '{source_of(self.lane)}'"
        await self.in_session("large statement", sql, changes, self.lane.reserve())

    async def in_session(self, kind, sql, changes, commit):
        if self.session.process is None:
            await self.session.connect()
        await self.commit(kind, sql.replace("\n", " "), changes, commit)


class Truncater(Writer):
    """Truncates the table while no other writer is in a change, alone or in a transaction that also writes."""

    def __init__(self, load, writers, seed):
        super().__init__(load, None, seed)
        self.writers = writers

    def pause(self):
        return self.random.uniform(4, 15)

    async def run(self):
        try:
            while not self.load.stopping:
                await asyncio.sleep(self.pause())
                if not self.load.may_truncate or any(writer.is_settling for writer in self.writers):
                    continue
                for writer in self.writers:
                    await writer.lock.acquire()
                try:
                    await self.truncate()
                except (SessionLost, StatementFailed):
                    self.ledger.errors["SQL session lost"] += 1
                    self.session.close()
                finally:
                    for writer in self.writers:
                        writer.lock.release()
        finally:
            self.session.close()

    async def truncate(self):
        """Truncates the table. Raises an error where nothing was committed."""
        if self.session.process is None:
            await self.session.connect()
        run = self.session.run
        changes = {writer: dict.fromkeys(writer.present(), False) for writer in self.writers}
        commits = {writer: writer.lane.reserve() for writer in self.writers}
        draw = self.random.random()
        statement = "TRUNCATE points"
        if draw < 0.5:
            await run("BEGIN")
            await run("TRUNCATE points")
            statement = "COMMIT"
            if draw < 0.15:
                for writer in self.writers:
                    writer.lane.burnt.add(commits[writer])
                await asyncio.sleep(self.random.uniform(0, 0.3))
                await run("ROLLBACK")
                return
            for writer in self.random.sample(self.writers, 3):
                slots = [slot for slot in writer.lane.slots.values() if slot.id is not None]
                await run(UPSERT.format(", ".join(row_of(slot, commits[writer]) for slot in slots)).replace("\n", " "))
                changes[writer].update(dict.fromkeys(slots, True))
        for writer, commit in commits.items():
            writer.lane.begin(commit, changes[writer])
        try:
            await run(statement)
        except StatementFailed:
            for writer, commit in commits.items():
                self.ledger.reject(writer.lane, commit)
            raise
        except SessionLost:
            await asyncio.gather(*(writer.settle(commit) for writer, commit in commits.items()))
            raise
        for writer, commit in commits.items():
            writer.lane.acknowledge(commit)
        self.ledger.writes["TRUNCATE"] += 1


# Readers


class Wire(asyncio.Protocol):
    """A persistent connection for one request after another, with little work for each."""

    def __init__(self):
        self.transport = None
        self.buffer = b""
        self.waiter = None
        self.loop = asyncio.get_running_loop()

    async def connect(self, port):
        self.buffer = b""
        await self.loop.create_connection(lambda: self, "127.0.0.1", port)

    def connection_made(self, transport):
        self.transport = transport

    def connection_lost(self, error):
        self.transport = None
        if self.waiter and not self.waiter.done():
            self.waiter.set_exception(ConnectionResetError())

    def data_received(self, data):
        self.buffer += data
        end = self.buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        head = self.buffer[:end].lower()
        status = int(head[9:12])
        length = 0
        if status not in (204, 304):
            start = head.find(b"\r\ncontent-length:")
            if start < 0:
                self.transport.abort()
                return
            length = int(head[start + 17 :].split(b"\r\n", 1)[0])
        if len(self.buffer) < end + 4 + length:
            return
        body = self.buffer[end + 4 : end + 4 + length]
        head, self.buffer = self.buffer[:end], self.buffer[end + 4 + length :]
        if self.waiter and not self.waiter.done():
            self.waiter.set_result((status, head, body))

    async def request(self, port, message):
        """Returns the status, head and body of the response. Throws an OSError if there is none."""
        if self.transport is None or self.transport.is_closing():
            await self.connect(port)
        self.waiter = self.loop.create_future()
        timer = self.loop.call_later(READ_TIMEOUT_SECONDS, self.transport.abort)
        self.transport.write(message)
        try:
            return await self.waiter
        finally:
            timer.cancel()

    def close(self):
        if self.transport:
            self.transport.abort()


def field(head, name):
    """Returns the value of a header field, or None."""
    match = re.search(rb"\r\n" + name + rb": *([^\r\n]*)", head, re.IGNORECASE)
    return match and match[1].decode()


ITEM = re.compile(rb'"name":"(\d+)\.(\d+)\.(\d+)".*?"t":"([^"]*)"')


class Prober:
    """Sends reads and checks their responses. A read may be conditional, with the entity tag of an earlier response."""

    def __init__(self, load, seed):
        self.load = load
        self.ledger = load.ledger
        self.random = load.generator(seed)
        self.wires = [Wire() for _ in load.cluster.entrances]

    async def probe(self, slot, position=None, written_by=None):
        """Reads a place that was just written, from the other entrance, if there is one, or from any one."""
        instances = [each for each in self.load.cluster.entrances if each.is_up]
        if len(instances) > 1:
            instances = [each for each in instances if each is not written_by]
        if instances and slot.id is not None:
            instance = self.random.choice(instances)
            await self.read(instance, f"/locations/{slot.id}", [(slot.lane, [slot])], True, position)

    async def read(self, instance, path, regions, is_place, position=None):
        """Sends a read and checks the response. The regions are lanes with the places to be in the response."""
        load, ledger = self.load, self.ledger
        headers = ""
        # Usually a tag that any client got from this instance, sometimes from the other one.
        tagged_by = self.random.randrange(len(self.wires)) if self.random.random() < 0.2 else instance.number
        known = load.tags.get((tagged_by, path))
        if known and self.random.random() < load.conditional_share:
            headers = f"If-None-Match: {known[0]}\r\n"
        else:
            known = None
        if position:
            headers += f"Waymark-Min-Position: {position.text}\r\n"
        message = f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n".encode()
        began = ledger.now()
        lows = None
        if load.is_bounded:
            # Without a position, the response contains what was acknowledged before the maximum staleness.
            lows = ledger.lows_at(began - load.maximum_staleness) if position is None else position.lows
        low = [lows[lane.index] if lows else lane.low for lane, _ in regions]
        try:
            status, head, body = await self.wires[instance.number].request(instance.port, message)
        except OSError:
            ledger.errors["read without a response"] += 1
            load.failed_reads.append((ledger.now() - began, None))
            await asyncio.sleep(0.02)
            return
        kind = "place" if is_place else "filtered list" if "filter=" in path else "list"
        label = f"{path} of {instance.name}, from {began:.3f}: {status}"
        age = field(head, b"age") if load.stale_seconds else None
        if age is not None:
            # A confirmation up to a second before the age, because ages are rounded down.
            label += f" age {age}"
            past = ledger.lows_at(ledger.now() - int(age) - 1.1)
            low = [past[lane.index] for lane, _ in regions]
            kind = f"aged {kind}"
            if int(age) > load.stale_seconds:
                ledger.report(WRONG, f"{label}: the age is over {load.stale_seconds} s")
        if status == 304 and known:
            values = known[1]
            kind += " (304)"
        elif status == 404 and is_place:
            values = {}
        elif status == 200:
            values = self.parse(body, label)
            if values is None:
                return
            tag = field(head, b"etag")
            if tag:
                if len(load.tags) > 10_000:
                    load.tags.clear()
                load.tags[instance.number, path] = tag, values
        else:
            ledger.errors[f"{kind} {status}"] += 1
            load.failed_reads.append((ledger.now() - began, f"{status} {problem_code(body)}"))
            if status not in load.cluster.failure_statuses:
                ledger.report(WRONG, f"{label}: {body[:200]}")
            await asyncio.sleep(0.01)
            return
        # A list from PostgreSQL ends before a place whose long tags another write has just added.
        is_partial = b'rel="next"' in head
        if is_partial:
            kind = "partial " + kind
        ledger.checked[kind] += 1
        for (lane, slots), low_commit in zip(regions, low):
            found = values.get(lane.number, {})
            if is_partial:
                slots = [slot for slot in slots if slot.number in found]
            if is_place:
                ledger.check_place(slots[0], found.get(slots[0].number), low_commit, label)
            else:
                ledger.check_list(lane, slots, found, low_commit, label)
                if len(found) > len(slots) or found.keys() - {slot.number for slot in slots}:
                    self.check_others(lane, slots, found, low_commit, label)
        if len(values) > len(regions) or values.keys() - {lane.number for lane, _ in regions}:
            ledger.report(WRONG, f"{label}: has places of lanes {sorted(values)}")

    def check_others(self, lane, slots, found, low, label):
        """Checks the places of a list that were not in its region when the read began."""
        expected = {slot.number for slot in slots}
        for number, value in found.items():
            if number in expected:
                continue
            slot = lane.slots.get(number) or next(
                (each for each in self.load.retired if each.lane is lane and each.number == number), None)
            if slot is None:
                self.ledger.report(WRONG, f"{label}: unknown place {lane.number}.{number}")
            else:
                self.ledger.check_place(slot, value, low, label)

    def parse(self, body, label):
        """Returns the commits of the places in a response, by lane and place; None if it is wrong."""
        values = {}
        count = 0
        for lane, commit, number, tag in ITEM.findall(body):
            if tag != b"%s.%s.%s" % (lane, commit, number):
                break
            values.setdefault(int(lane), {})[int(number)] = int(commit)
            count += 1
        if count != body.count(b'"name":') or count != sum(map(len, values.values())):
            self.ledger.report(WRONG, f"{label}: {body[:500]}")
            return None
        return values


class Reader(Prober):
    """A client that reads from one instance, one request after another."""

    def __init__(self, load, instance, seed):
        super().__init__(load, seed)
        self.instance = instance

    async def run(self):
        try:
            while not self.load.is_done():
                if self.instance.is_up:
                    await self.read_any()
                else:
                    await asyncio.sleep(0.05)
        finally:
            for wire in self.wires:
                wire.close()

    async def read_any(self):
        load = self.load
        position = None
        if load.is_bounded and load.positions and self.random.random() < 0.7:
            position = load.positions[-1 - int(self.random.random() ** 3 * len(load.positions))]
        draw = self.random.uniform(0.35 if load.mode == "tags" else 0, 1)
        if draw < 0.45 and self.ledger.recent:
            await self.read_place(self.random.choice(self.ledger.recent), position)
        elif draw < 0.72:
            lane = self.random.choice(self.ledger.lanes)
            await self.read_place(self.random.choice(list(lane.slots.values())), position)
        elif draw < 0.75 and load.retired:
            await self.read_place(self.random.choice(load.retired), position)
        else:
            await self.read_list(position)

    async def read_place(self, slot, position):
        if slot.id is not None:
            await self.read(self.instance, f"/locations/{slot.id}", [(slot.lane, [slot])], True, position)

    async def read_list(self, position):
        lane = self.random.choice(self.load.listed)
        lat = latitude_of(lane.number)
        fields = self.random.choice(("name,tags", "*"))
        draw = self.random.random()
        lanes = [lane]
        slots = None
        if lane in self.load.large:
            first = self.random.randrange(BULK_PLACES // STRIP_PLACES) * STRIP_PLACES
            slots = [lane.slots[number] for number in range(first, first + STRIP_PLACES)]
            box = f"{slots[0].long - 0.0005:.4f},{lat - 0.4:.1f},{slots[-1].long + 0.0005:.4f},{lat + 0.4:.1f}"
            path = f"bbox={box}"
        elif draw < 0.3:
            path = f"bbox=-1,{lat - 0.4:.1f},3,{lat + 0.4:.1f}"
        elif draw < 0.5:
            path = f"source={source_of(lane)}"
        elif draw < 0.75:
            path = f"lat={lat}&long=0.01&radius=30000"
        else:
            following = self.ledger.by_number.get(lane.number + 1)
            lanes = [lane, following] if following in self.load.listed and following not in self.load.large else [lane]
            path = f"bbox=-1,{lat - 0.4:.1f},3,{lat + len(lanes) - 0.6:.1f}"
        regions = [(each, slots or list(each.slots.values())) for each in lanes]
        # A filter that every place satisfies, and that only the index can evaluate.
        condition = "&filter=version%3E0" if self.random.random() < 0.3 else ""
        path = f"/locations?{path}&limit=1000&fields={fields}{condition}"
        await self.read(self.instance, path, regions, False, position)
