"""The clients of chaos, crash and soak: each writes its own places and a few shared ones, reads all places, disconnects
at times, and records all requests and responses in the ledger."""

import asyncio
import collections
import json
import uuid

from connection import NoResponse, NotSent, version_of
from history import ABSENT, DUPLICATED, MAXIMUM_DELAY_SECONDS, UNEXPECTED
from reader import Reader

# The numbers of places of one client with ids that it chose, and with ids that the server assigned.
CLIENT_CHOSEN_PLACES = 8
SERVER_ASSIGNED_PLACES = 8
# A POST with a response, to be repeated at any time.
CompletedPost = collections.namedtuple("CompletedPost", "path headers body outcome writes")


def new_id(random):
    return str(uuid.UUID(int=random.getrandbits(128), version=4))


class Slot:
    """An id that one client writes to, and its last known state."""

    def __init__(self, id, known):
        self.id = id
        # The token or ABSENT, and its entity tag; None if the state is unknown.
        self.known = known
        self.parked_until = 0.0


class Client(Reader):
    """A client that writes, reads and verifies, one request after another."""

    def __init__(self, number, seed, cluster, ledger, shared_ids, rate, headers):
        super().__init__(number, seed, cluster, ledger, shared_ids, headers)
        self.pause = 1 / rate
        self.chosen_slots = [Slot(new_id(self.random), (ABSENT, None)) for _ in range(CLIENT_CHOSEN_PLACES)]
        self.assigned_slots = []
        self.completed_posts = collections.deque(maxlen=40)
        self.keys = 0

    async def run(self, stopping):
        due = self.ledger.now() + self.random.random() * self.pause
        while not stopping.is_set():
            due = max(due + self.pause * self.random.uniform(0.5, 1.5), self.ledger.now() - 1)
            await asyncio.sleep(max(0, due - self.ledger.now()))
            await self.act()
        for connection in self.connections:
            connection.close()

    async def act(self):
        draw = self.random.random()
        if draw < 0.30:
            await self.read(self.any_id())
        elif draw < 0.43:
            await self.list()
        elif draw < 0.44:
            await self.search()
        elif draw < 0.45:
            await self.tile()
        elif draw < 0.47:
            await self.walk()
        elif draw < 0.475:
            await self.count()
        elif draw < 0.48:
            await (self.check() if self.random.random() < 0.8 else self.featured())
        elif draw < 0.485:
            await self.export()
        elif draw < 0.56:
            await self.compete()
        elif draw < 0.63:
            await self.create() if len(self.assigned_slots) < SERVER_ASSIGNED_PLACES else await self.delete_assigned()
        elif draw < 0.66:
            await self.repeat()
        elif draw < 0.68:
            await self.import_rows()
        else:
            await self.change(self.random.choice(self.chosen_slots + self.assigned_slots))

    async def send_write(self, write, instance, method, path, headers, body):
        """Sends a write to one id and records the outcome. Returns the response; None if there is none."""
        try:
            response = await self.request(instance, method, path, headers, body, may_disconnect=True)
        except NotSent:
            self.ledger.end(write, "rejected", "not sent")
            return None
        except NoResponse:
            self.ledger.end(write, "unknown", "no response")
            return None
        summary = str(response.status)
        if response.status in (200, 201, 204):
            self.counts[method] += 1
            version = version_of(response)
            created = {("PUT", 200): False, ("PUT", 201): True}.get((method, response.status))
            self.ledger.end(write, "applied", summary, version, created)
        elif response.status == 404:
            self.ledger.end(write, "missing", summary)
        elif response.status == 412:
            self.ledger.end(write, "failed", summary)
        elif response.status == 409 or response.status >= 500 and response.body != "outcome-unknown" or response.status == 429:
            self.ledger.end(write, "rejected", f"{summary} {response.body if response.status != 409 else ''}")
        else:
            self.ledger.end(write, "unknown", f"{summary} {response.body if response.status >= 500 else ''}")
            if response.status < 500:
                self.ledger.report_violation(UNEXPECTED, f"{method} {path} returned {response.status} {response.body}")
        return response

    async def change(self, slot):
        """Creates, replaces, patches or deletes the place of a slot, with or without a condition."""
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
        await self.write(slot, method, condition, headers)

    async def write(self, slot, method, condition, headers):
        instance = self.instance()
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
        response = await self.send_write(write, instance, method, path, headers, body)
        self.last_written = slot.id
        if write.result == "applied":
            slot.known = (write.outcome, response.headers.get("etag"))
        elif write.result == "missing":
            slot.known = (ABSENT, None)
        elif write.result == "failed":
            slot.known = None
        elif write.result == "unknown":
            slot.known = None
            if condition in (None, ABSENT):
                slot.parked_until = write.completed + MAXIMUM_DELAY_SECONDS

    async def compete(self):
        """Changes a shared place, on the condition that it still has the version that was read."""
        slot = Slot(self.random.choice(self.shared_ids), None)
        slot.known = await self.read(slot.id)
        if slot.known is None:
            return
        token, tag = slot.known
        if token == ABSENT:
            await self.write(slot, "PUT", ABSENT, {"If-None-Match": "*"})
        else:
            method = self.random.choice(("PUT", "PATCH", "PATCH", "DELETE"))
            await self.write(slot, method, token, {"If-Match": tag})

    def new_key(self):
        self.keys += 1
        return f'"chaos-{self.number}-{self.keys}"'

    async def create(self):
        """Creates a place with POST, and retries with the same idempotency key until there is a response."""
        content = self.ledger.content(self.random, self.number)
        headers = {"Content-Type": "application/json"}
        has_key = self.random.random() < 0.85
        if has_key:
            headers["Idempotency-Key"] = self.new_key()
        label = f"client {self.number} POST {headers.get('Idempotency-Key', '')}"
        write = self.ledger.begin(None, "create", content, None, label)
        response, summary = await self.post_with_retries("/locations", headers, content.body(), has_key, write)
        if response is None:
            return
        id = response.headers["location"].rsplit("/", 1)[1]
        self.ledger.bind(write, id)
        self.ledger.end(write, "applied", summary, version_of(response))
        self.counts["POST"] += 1
        slot = Slot(id, (content.token, response.headers["etag"]))
        self.assigned_slots.append(slot)
        self.last_written = id
        if has_key:
            self.completed_posts.append(CompletedPost("/locations", headers, content.body(), id, [write]))

    async def post_with_retries(self, path, headers, body, has_key, *writes):
        """Sends a POST, and retries with its idempotency key until it succeeds; otherwise records the outcome of the
        writes. Returns the response, None without success, and a summary of the attempts."""
        instance, is_unknown, attempts = None, False, []
        for _ in range(12 if has_key else 1):
            instance = self.instance(other_than=instance)
            try:
                response = await self.request(instance, "POST", path, headers, body, may_disconnect=True)
            except NotSent:
                attempts.append("not sent")
                await asyncio.sleep(0.1)
                continue
            except NoResponse:
                attempts.append(f"no response from {instance.number}")
                is_unknown = True
                continue
            reason = f" {response.body}" if response.status >= 500 else ""
            attempts.append(f"{response.status}{reason} from {instance.number}")
            if response.status in (200, 201):
                return response, ", ".join(attempts)
            if response.status < 500 and response.status not in (409, 429):
                self.ledger.report_violation(UNEXPECTED, f"POST {path} returned {response.status} {response.body}")
                break
            is_unknown = is_unknown or response.body == "outcome-unknown"
            await asyncio.sleep(self.random.uniform(0.05, 0.5))
        for write in writes:
            self.ledger.end(write, "unknown" if is_unknown else "rejected", ", ".join(attempts))
        return None, ", ".join(attempts)

    async def delete_assigned(self):
        """Deletes a place whose id the server assigned; the id is not used again."""
        slot = self.random.choice(self.assigned_slots)
        if slot.parked_until > self.ledger.now():
            return
        if slot.known is None:
            slot.known = await self.read(slot.id)
        if slot.known and slot.known[0] != ABSENT:
            token, tag = slot.known
            await self.write(slot, "DELETE", token, {"If-Match": tag})
        if slot.known and slot.known[0] == ABSENT:
            self.assigned_slots.remove(slot)
            self.ledger.retire(slot.id)

    async def repeat(self):
        """Repeats a completed POST, whose places may have changed since."""
        if not self.completed_posts:
            return
        post = self.random.choice(self.completed_posts)
        instance = self.instance()
        sent = self.ledger.now()
        try:
            response = await self.request(instance, "POST", post.path, post.headers, post.body, may_disconnect=True)
        except NotSent:
            return
        except NoResponse:
            response = None
        for write in post.writes:
            write.repeats.append(sent)
        if response is None or response.status >= 500 or response.status in (409, 429):
            return
        self.counts["repeats"] += 1
        if post.path == "/locations":
            outcome = response.headers.get("location", "").rsplit("/", 1)[-1] if response.status == 201 else None
        else:
            outcome = response.body if response.status == 200 else None
        if outcome != post.outcome:
            key = post.headers["Idempotency-Key"]
            text = f"returned {response.status} {outcome}, expected {post.outcome}"
            self.ledger.report_violation(DUPLICATED, f"the repeat of POST {post.path} {key} {text}")

    async def import_rows(self):
        """Replaces or creates some places of the client with an atomic import."""
        slots = [slot for slot in self.chosen_slots if slot.parked_until < self.ledger.now()]
        slots = self.random.sample(slots, min(len(slots), self.random.randrange(1, 5)))
        if not slots:
            return
        contents = [self.ledger.content(self.random, self.number) for _ in slots]
        rows = [json.dumps(content.body(id=slot.id)) for slot, content in zip(slots, contents)]
        headers = {"Content-Type": "application/x-ndjson", "Idempotency-Key": self.new_key()}
        label = f"client {self.number} import {headers['Idempotency-Key']}"
        writes = [self.ledger.begin(slot.id, "import", content, None, label) for slot, content in zip(slots, contents)]
        path = "/locations/import?mode=atomic"
        response, summary = await self.post_with_retries(path, headers, "\n".join(rows) + "\n", True, *writes)
        for slot, write in zip(slots, writes):
            slot.known = None
            if response is not None:
                self.ledger.end(write, "applied", summary)
            elif write.result == "unknown":
                slot.parked_until = write.completed + MAXIMUM_DELAY_SECONDS
        if response is None:
            return
        self.counts["imported rows"] += len(slots)
        report = json.loads(response.body)
        if report["created"] + report["updated"] != len(slots) or report["rejected"]:
            self.ledger.report_violation(UNEXPECTED, f"an import of {len(slots)} places returned {report} [{label}]")
        self.completed_posts.append(CompletedPost(path, headers, "\n".join(rows) + "\n", response.body, writes))
