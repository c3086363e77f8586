"""Tests of the comparison of copies: each change that a follower misses must be reported, and no correct copy."""

import json
import pathlib
import tempfile
import unittest

from changes import apply_lines, compare
from history import LOST, RESURRECTED, STALE, UNEXPECTED


def change(id, version, name="a"):
    return {"id": id, "version": version, "place": {"id": id, "version": version, "name": name, "lat": 1}}


class ComparisonTest(unittest.TestCase):
    """A server's places after some changes, and copies that applied some of them."""

    CHANGES = [
        change("a", 1), change("b", 2), change("a", 3, "new"), {"id": "b", "version": 4, "deleted": True}, change("c", 5),
    ]
    PRESENT = {"a": change("a", 3, "new")["place"], "c": change("c", 5)["place"]}

    def copy(self, changes):
        """Returns what a command has in its file, two changes at a time."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "copy.json"
            for start in range(0, len(changes), 2):
                page = changes[start : start + 2] + [{"position": f"1.{start}"}]
                apply_lines(path, [json.dumps(line) + "\n" for line in page])
            return json.loads(path.read_text())

    def kinds(self, changes, **options):
        return [kind for kind, _ in compare(self.copy(changes), self.PRESENT, **options)]

    def test_complete_copy(self):
        self.assertEqual(self.kinds(self.CHANGES), [])

    def test_repeated_changes(self):
        self.assertEqual(self.kinds(self.CHANGES + self.CHANGES[2:]), [])

    def test_missing_changes(self):
        for index, kind in ((2, STALE), (3, RESURRECTED), (4, LOST)):
            with self.subTest(kind):
                self.assertEqual(self.kinds(self.CHANGES[:index] + self.CHANGES[index + 1 :]), [kind])

    def test_invented_place(self):
        self.assertEqual(self.kinds(self.CHANGES + [change("d", 6)]), [RESURRECTED])

    def test_changes_out_of_order(self):
        self.assertEqual(self.kinds(self.CHANGES + self.CHANGES[:1]), [STALE])

    def test_place_that_does_not_match(self):
        self.assertEqual(self.kinds(self.CHANGES, matches=lambda place: place["name"] == "a"), [UNEXPECTED])


if __name__ == "__main__":
    unittest.main()
