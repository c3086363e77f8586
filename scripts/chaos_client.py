"""The clients of scripts/chaos: each writes to places of its own and to a few of all, reads everyone's, hangs up, and notes
everything in the ledger."""

import asyncio
import collections
import json
import uuid

from chaos_reader import Reader
from chaos_wire import NotSent, Unanswered, version_of
from history import ABSENT, DOUBLED, HORIZON_SECONDS, UNEXPECTED

# Places of one client with ids that it chose, which come and go, and with ids that it was given.
CHOSEN_PLACES = 8
GIVEN_PLACES = 8
# A POST that was done, to be repeated at any time.
Done = collections.namedtuple("Done", "path headers body outcome writes")


def new_id(random):
    return str(uuid.UUID(int=random.getrandbits(128), version=4))


class Slot:
    """An id that one client writes to, and what the client knows of it."""

    def __init__(self, id, known):
        self.id = id
        # None where it is not known; else the token, or ABSENT, and its entity tag.
        self.known = known
        self.parked_until = 0.0


class Client(Reader):
    """Writes, reads and checks, one request after another."""

    def __init__(self, number, seed, cluster, ledger, shared_ids, rate):
        super().__init__(number, seed, cluster, ledger, shared_ids)
        self.pause = 1 / rate
        self.chosen = [Slot(new_id(self.random), (ABSENT, None)) for _ in range(CHOSEN_PLACES)]
        self.given = []
        self.done = collections.deque(maxlen=40)
        self.keys = 0

    async def run(self, stopping):
        due = self.ledger.now() + self.random.random() * self.pause
        while not stopping.is_set():
            due = max(due + self.pause * self.random.uniform(0.5, 1.5), self.ledger.now() - 1)
            await asyncio.sleep(max(0, due - self.ledger.now()))
            await self.act()
        for wire in self.wires:
            wire.close()

    async def act(self):
        draw = self.random.random()
        if draw < 0.30:
            await self.read(self.any_id())
        elif draw < 0.45:
            await self.list()
        elif draw < 0.47:
            await self.walk()
        elif draw < 0.475:
            await self.count()
        elif draw < 0.48:
            await self.check()
        elif draw < 0.485:
            await self.export()
        elif draw < 0.56:
            await self.compete()
        elif draw < 0.63:
            await self.create() if len(self.given) < GIVEN_PLACES else await self.leave()
        elif draw < 0.66:
            await self.repeat()
        elif draw < 0.68:
            await self.import_rows()
        else:
            await self.change(self.random.choice(self.chosen + self.given))

    async def write(self, write, instance, method, path, headers, body):
        """Sends a write to one id and notes the outcome. Returns the response, None where there is none."""
        try:
            response = await self.ask(instance, method, path, headers, body, may_hang_up=True)
        except NotSent:
            self.ledger.end(write, "refused", "not sent")
            return None
        except Unanswered:
            self.ledger.end(write, "unknown", "no response")
            return None
        note = str(response.status)
        if response.status in (200, 201, 204):
            self.counts[method] += 1
            version = version_of(response)
            created = {("PUT", 200): False, ("PUT", 201): True}.get((method, response.status))
            self.ledger.end(write, "made", note, version, created)
        elif response.status == 404:
            self.ledger.end(write, "missing", note)
        elif response.status == 412:
            self.ledger.end(write, "failed", note)
        elif response.status == 409 or response.status >= 500 and response.body != "outcome-unknown" or response.status == 429:
            self.ledger.end(write, "refused", f"{note} {response.body if response.status != 409 else ''}")
        else:
            self.ledger.end(write, "unknown", f"{note} {response.body if response.status >= 500 else ''}")
            if response.status < 500:
                self.ledger.complain(UNEXPECTED, f"{method} {path} was answered with {response.status} {response.body}")
        return response

    async def change(self, slot):
        """Creates, replaces, patches or deletes the place of a slot, with a condition or without."""
        if slot.parked_until > self.ledger.now():
            await self.read(slot.id)
            return
        if slot.known is None:
            slot.known = await self.read(slot.id)
            if slot.known is None:
                return
        token, tag = slot.known
        draw = self.random.random()
        is_conditional = self.random.random() < 0.6
        if token == ABSENT:
            method = "PUT" if draw < 0.9 else "DELETE"
        else:
            method = "PATCH" if draw < 0.4 else "PUT" if draw < 0.75 else "DELETE"
        condition, headers = None, {}
        if is_conditional and token != ABSENT:
            condition, headers = token, {"If-Match": tag}
        elif is_conditional and method == "PUT":
            condition, headers = ABSENT, {"If-None-Match": "*"}
        await self.send(slot, method, condition, headers)

    async def send(self, slot, method, condition, headers, instance=None):
        instance = instance or self.instance()
        content = None if method == "DELETE" else self.ledger.content(self.random, self.number)
        body = None
        if method == "PUT":
            body = content.body()
        elif method == "PATCH":
            body = content.body(category=content.category)
        if body:
            headers = headers | {"Content-Type": "application/merge-patch+json" if method == "PATCH" else "application/json"}
        path = f"/locations/{slot.id}"
        write = self.ledger.begin(slot.id, method.lower(), content, condition, self.label(instance, method, "by id"))
        response = await self.write(write, instance, method, path, headers, body)
        self.last_written = slot.id
        if write.result == "made":
            slot.known = (write.outcome, response.headers.get("etag"))
        elif write.result == "missing":
            slot.known = (ABSENT, None)
        elif write.result == "failed":
            slot.known = None
        elif write.result == "unknown":
            slot.known = None
            if condition in (None, ABSENT):
                slot.parked_until = write.answered + HORIZON_SECONDS

    async def compete(self):
        """Changes a place that others change too, to the version that was read or not at all."""
        slot = Slot(self.random.choice(self.shared_ids), None)
        slot.known = await self.read(slot.id)
        if slot.known is None:
            return
        token, tag = slot.known
        if token == ABSENT:
            await self.send(slot, "PUT", ABSENT, {"If-None-Match": "*"})
        else:
            method = self.random.choice(("PUT", "PATCH", "PATCH", "DELETE"))
            await self.send(slot, method, token, {"If-Match": tag})

    def new_key(self):
        self.keys += 1
        return f'"chaos-{self.number}-{self.keys}"'

    async def create(self):
        """Creates a place by POST, and repeats it by its key until there is a response."""
        content = self.ledger.content(self.random, self.number)
        headers = {"Content-Type": "application/json"}
        has_key = self.random.random() < 0.85
        if has_key:
            headers["Idempotency-Key"] = self.new_key()
        label = f"client {self.number} POST {headers.get('Idempotency-Key', '')}"
        write = self.ledger.begin(None, "create", content, None, label)
        response, note = await self.ask_until_done("/locations", headers, content.body(), has_key, write)
        if response is None:
            return
        id = response.headers["location"].rsplit("/", 1)[1]
        self.ledger.bind(write, id)
        self.ledger.end(write, "made", note, version_of(response))
        self.counts["POST"] += 1
        slot = Slot(id, (content.token, response.headers["etag"]))
        self.given.append(slot)
        self.last_written = id
        if has_key:
            self.done.append(Done("/locations", headers, content.body(), id, [write]))

    async def ask_until_done(self, path, headers, body, has_key, *writes):
        """Repeats a POST by its key until it is answered as done, and notes the outcome where it is not. Returns the
        response, None where it is not known to be done, and what came of each attempt."""
        instance, is_unknown, notes = None, False, []
        for _ in range(12 if has_key else 1):
            instance = self.instance(other_than=instance)
            try:
                response = await self.ask(instance, "POST", path, headers, body, may_hang_up=True)
            except NotSent:
                notes.append("not sent")
                await asyncio.sleep(0.1)
                continue
            except Unanswered:
                notes.append(f"no response from {instance.number}")
                is_unknown = True
                continue
            reason = f" {response.body}" if response.status >= 500 else ""
            notes.append(f"{response.status}{reason} from {instance.number}")
            if response.status in (200, 201):
                return response, ", ".join(notes)
            if response.status < 500 and response.status not in (409, 429):
                self.ledger.complain(UNEXPECTED, f"POST {path} was answered with {response.status} {response.body}")
                break
            is_unknown = is_unknown or response.body == "outcome-unknown"
            await asyncio.sleep(self.random.uniform(0.05, 0.5))
        for write in writes:
            self.ledger.end(write, "unknown" if is_unknown else "refused", ", ".join(notes))
        return None, ", ".join(notes)

    async def leave(self):
        """Deletes a place that the client was given the id of, for good."""
        slot = self.random.choice(self.given)
        if slot.parked_until > self.ledger.now():
            return
        if slot.known is None:
            slot.known = await self.read(slot.id)
        if slot.known and slot.known[0] != ABSENT:
            token, tag = slot.known
            await self.send(slot, "DELETE", token, {"If-Match": tag})
        if slot.known and slot.known[0] == ABSENT:
            self.given.remove(slot)
            self.ledger.retire(slot.id)

    async def repeat(self):
        """Repeats a POST that was done, whatever has become of its places since."""
        if not self.done:
            return
        done = self.random.choice(self.done)
        instance = self.instance()
        sent = self.ledger.now()
        try:
            response = await self.ask(instance, "POST", done.path, done.headers, done.body, may_hang_up=True)
        except NotSent:
            return
        except Unanswered:
            response = None
        for write in done.writes:
            write.repeats.append(sent)
        if response is None or response.status >= 500 or response.status in (409, 429):
            return
        self.counts["repeats"] += 1
        if done.path == "/locations":
            outcome = response.headers.get("location", "").rsplit("/", 1)[-1] if response.status == 201 else None
        else:
            outcome = response.body if response.status == 200 else None
        if outcome != done.outcome:
            key = done.headers["Idempotency-Key"]
            text = f"was answered with {response.status} {outcome}, not {done.outcome}"
            self.ledger.complain(DOUBLED, f"the repeat of POST {done.path} {key} {text}")

    async def import_rows(self):
        """Replaces or creates some places of the client by an import, all or none."""
        slots = [slot for slot in self.chosen if slot.parked_until < self.ledger.now()]
        slots = self.random.sample(slots, min(len(slots), self.random.randrange(1, 5)))
        if not slots:
            return
        contents = [self.ledger.content(self.random, self.number) for _ in slots]
        rows = [json.dumps(content.body(id=slot.id)) for slot, content in zip(slots, contents)]
        headers = {"Content-Type": "application/x-ndjson", "Idempotency-Key": self.new_key()}
        label = f"client {self.number} import {headers['Idempotency-Key']}"
        writes = [self.ledger.begin(slot.id, "import", content, None, label) for slot, content in zip(slots, contents)]
        path = "/locations/import?mode=atomic"
        response, note = await self.ask_until_done(path, headers, "\n".join(rows) + "\n", True, *writes)
        for slot, write in zip(slots, writes):
            slot.known = None
            if response is not None:
                self.ledger.end(write, "made", note)
            elif write.result == "unknown":
                slot.parked_until = write.answered + HORIZON_SECONDS
        if response is None:
            return
        self.counts["rows imported"] += len(slots)
        report = json.loads(response.body)
        if report["created"] + report["updated"] != len(slots) or report["rejected"]:
            self.ledger.complain(UNEXPECTED, f"an import of {len(slots)} places was answered with {report} [{label}]")
        self.done.append(Done(path, headers, "\n".join(rows) + "\n", response.body, writes))
