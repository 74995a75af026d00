"""Generations of a job: changes, a checkpoint, a restore with another parallelism, and again.

Each generation has one to three subtasks that share four key groups of two lists. A subtask makes some
changes; its checkpoint lies anywhere among them and stands on fuzzy files of its own, or on what it was
restored from, or, with the changelog off, on exact files. The next generation merges the parts of all
subtasks that overlap its key groups, replays their changelogs, and goes on numbering.

What must hold: after each restore every list reads as it was written up to its checkpoint.

The rules: P1 (`applied` is a lower bound), P4 (ends and numbers), P7 (changelog off and on).

Size: random histories of up to five generations, 30 000 of them; quick, and for each mutation, 4 000.
GenerationsModelTest runs such histories through the real Restorer.
"""

import random

from explore import Mutation, Outcome

RULES = ["P1", "P4", "P7"]

MUTATIONS = {
    "applied-is-upper-bound": Mutation(
        ["P1"], "files may hold one change above the end of the checkpoint that names them"),
    "end-of-last-block": Mutation(
        ["P4"], "the end of a checkpoint is that of its last block, 0 without one"),
    "starts-at-least-end": Mutation(
        ["P4"], "the new changelog starts at the least end of what is restored"),
    "no-numbers-when-off": Mutation(
        ["P7"], "numbers stand still while the changelog is off"),
    "no-end-when-off": Mutation(
        ["P4", "P7"], "a checkpoint records no end while the changelog is off"),
}

KEY_GROUPS = 4
KINDS = ["append"] * 4 + ["replace", "remove", "remove all"]


def apply(table, change, number):
    kind, key, element = change
    if kind == "append":
        table[key] = table.get(key, ()) + ((number, element),)
    elif kind == "replace":
        table[key] = ((number, element),)
    elif kind == "remove":
        table[key] = ()
    else:
        for each in keys([key[0]]):
            table[each] = ()


def read(operands):
    elements = []
    greatest = -1
    for number, element in operands:
        if number > greatest:
            elements.append(element)
            greatest = number
    return elements


def keys(key_groups):
    return [(key_group, i) for key_group in key_groups for i in (0, 1)]


def groups_of(subtask, parallelism):
    return [each for each in range(KEY_GROUPS) if each * parallelism // KEY_GROUPS == subtask]


class History:
    """One random history. Subtasks are dicts; parts are (key groups, files, changes, end)."""

    def __init__(self, seed, mutation):
        self.random = random.Random(seed)
        self.mutation = mutation
        self.truth = {}
        self.elements = 0
        self.trace = []

    def run(self):
        parallelism = self.random.randint(1, 3)
        subtasks = [
            dict(groups=groups_of(i, parallelism), table={}, parts=[], start=0)
            for i in range(parallelism)]
        for generation in range(self.random.randint(2, 5)):
            parts = []
            for i, subtask in enumerate(subtasks):
                self.trace.append(f"generation {generation}, subtask {i}, from {subtask['start']}:")
                parts += self.live(subtask)
            subtasks = self.restore(parts)
            wrong = self.difference(subtasks)
            if wrong:
                return wrong
        return ""

    def live(self, subtask):
        logged = self.random.randint(0, 2) > 0
        tables = [dict(subtask["table"])]
        changes = []
        for i in range(self.random.randint(0, 6)):
            key = (self.random.choice(subtask["groups"]), self.random.randint(0, 1)) if (
                subtask["groups"]) else None
            if key is None:
                break
            number = subtask["start"] + i
            if not logged and self.mutation == "no-numbers-when-off":
                number = subtask["start"]
            change = (self.random.choice(KINDS), key, self.elements)
            self.elements += 1
            changes.append((number, change))
            tables.append(dict(tables[-1]))
            apply(tables[-1], change, number)
        at = self.random.randint(0, len(changes))
        for _, (kind, key, element) in changes[:at]:
            self.write(kind, key, element)
        return self.checkpoint(subtask, logged, changes, tables, at)

    def write(self, kind, key, element):
        if kind == "append":
            self.truth.setdefault(key, []).append(element)
        elif kind == "replace":
            self.truth[key] = [element]
        elif kind == "remove":
            self.truth[key] = []
        else:
            for each in keys([key[0]]):
                self.truth[each] = []

    def checkpoint(self, subtask, logged, changes, tables, at):
        end = subtask["start"] + at
        self.trace += [f"  {number}: {change[0]} {change[1]}" for number, change in changes]
        if not logged:
            self.trace.append(f"  checkpoint at {end}, changelog off")
            recorded = 0 if self.mutation == "no-end-when-off" else end
            return [(subtask["groups"], tables[at], [], recorded)]
        if self.random.random() < 0.4:
            self.trace.append(f"  checkpoint at {end} on what was restored")
            tail = changes[:at]
            recorded = self.end_of(tail, end)
            parts = subtask["parts"] or [(subtask["groups"], {}, [], 0)]
            return [
                (groups, files, before + [each for each in tail if each[1][1][0] in groups],
                 max(old, recorded))
                for groups, files, before, old in parts]
        position = self.random.randint(0, at)
        first = self.random.randint(0, position)
        last = at
        if self.mutation == "applied-is-upper-bound":
            last = min(len(changes), at + 1)
        files = {}
        for key in keys(subtask["groups"]):
            files[key] = tables[self.random.randint(position, last)].get(key, ())
        tail = changes[first:at]
        self.trace.append(
            f"  checkpoint at {end} on files from position {subtask['start'] + position} on,"
            f" block from {subtask['start'] + first}")
        return [(subtask["groups"], files, tail, self.end_of(tail, end))]

    def end_of(self, tail, end):
        if self.mutation != "end-of-last-block":
            return end
        return tail[-1][0] + 1 if tail else 0

    def restore(self, parts):
        parallelism = self.random.randint(1, 3)
        restored = []
        for i in range(parallelism):
            groups = groups_of(i, parallelism)
            table = {}
            own = []
            for part_groups, files, changes, end in parts:
                common = [each for each in part_groups if each in groups]
                if not common:
                    continue
                clipped = {key: row for key, row in files.items() if key[0] in common}
                tail = [each for each in changes if each[1][1][0] in common]
                part = dict(clipped)
                for number, change in tail:
                    apply(part, change, number)
                table.update(part)
                own.append((common, clipped, tail, end))
            ends = [end for _, _, _, end in own] or [0]
            start = min(ends) if self.mutation == "starts-at-least-end" else max(ends)
            restored.append(dict(groups=groups, table=table, parts=own, start=start))
        self.trace.append(f"restore into {parallelism} subtasks, from {[s['start'] for s in restored]}")
        return restored

    def difference(self, subtasks):
        for subtask in subtasks:
            for key in keys(subtask["groups"]):
                found = read(subtask["table"].get(key, ()))
                expected = self.truth.get(key, [])
                if found != expected:
                    return f"list {key} reads {found} and not {expected}"
        return ""


def run(mutation, quick) -> Outcome:
    histories = 4_000 if quick or mutation is not None else 30_000
    shortest = None
    for seed in range(histories):
        history = History(seed, mutation)
        wrong = history.run()
        if wrong and mutation is None:
            return Outcome(seed + 1, False, wrong, history.trace)
        if wrong and (shortest is None or len(history.trace) < len(shortest.trace)):
            shortest = Outcome(seed + 1, False, wrong, history.trace)
    return shortest or Outcome(histories, True, "", [])
