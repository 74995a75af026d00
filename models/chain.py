"""Owners of one job: the chain of slots, takeovers, lost answers, retention, garbage, sinks, fallback.

Each owner takes over, restores, rolls back what earlier owners left, and works: one checkpoint for each
offset of the input, with a blob and a sink transaction. A request travels by itself: it arrives at any
time or never, its answer may be lost, it is repeated, and a copy may arrive much later. Any owner stalls
for any time, also between planning deletions and deleting, or crashes. Every order of these steps is
explored. The store is a map with put-if-absent and a listing that is complete.

What must hold after each step: the newest manifest names no missing blob; the output of no offset is
committed twice; nothing is committed that was rolled back; the owner can restore, and no output of what
it restores is lost.

The rules: C2 (what a manifest lists), C3 (slots and takeover), C3a (unknown outcome), C4 (retention and
garbage), C5 (fallback), C6 (sinks).

Size: 2 owners, 2 offsets, 6 slots, then 3 owners, 1 offset, 4 slots; 1 retained checkpoint;
for 2 owners also with a newest manifest that is damaged once. The quick run has 2 owners, 4 slots, no damage.
An incarnation is the number of its owner: that a taker takes a fresh one for each attempt is not modelled.
"""

import collections

from explore import Mutation, Outcome, search

RULES = ["C2", "C3", "C3a", "C4", "C5", "C6"]

MUTATIONS = {
    "no-second-listing": Mutation(
        ["C3"], "a taker owns the job as soon as its record is stored, without listing again"),
    "equal-takeover-records": Mutation(
        ["C3"], "two takeover records of one slot have the same bytes"),
    "takeover-records-collected": Mutation(
        ["C3"], "takeover records below the newest manifest are deleted"),
    "unknown-is-abort": Mutation(
        ["C3a"], "a manifest whose answer is lost counts as aborted: its transaction is rolled back"),
    "any-incarnation-deleted": Mutation(
        ["C4"], "an owner deletes blobs of every incarnation, also of later ones"),
    "live-set-ignored": Mutation(
        ["C4"], "collection spares only what stored manifests name, not what is about to be named"),
    "fallback-reuses-blobs": Mutation(
        ["C5"], "an owner that fell back names blobs of the older checkpoint that it read"),
    "own-transaction-only": Mutation(
        ["C2", "C6"], "a manifest lists its own transaction, not the earlier ones not yet committed"),
    "roll-back-every-other": Mutation(
        ["C6"], "an owner rolls back transactions of later incarnations too"),
}

Size = collections.namedtuple("Size", "owners slots offsets")

World = collections.namedtuple("World", "slots blobs network owners sink damaged")
"""slots: ((number, Record), ...) ascending; network: (number, Record) puts under way; sink:
((transaction, state), ...); damaged: number of a manifest that cannot be read, or 0."""

Record = collections.namedtuple("Record", "kind writer offset blobs transactions")

Owner = collections.namedtuple("Owner", "phase slot offset blobs transactions sent repeats plan")
"""phase: 'idle', 'listed', 'taking', 'taken', 'restored', 'working', 'storing', 'fenced', 'dead';
slot: the next, or the one being put; blobs: of the newest own checkpoint; transactions: to commit;
plan: (slots, blobs) that it is about to delete, or None."""

IDLE = Owner("idle", 0, 0, (), (), None, 0, None)


class Model:
    """The steps of one configuration."""

    def __init__(self, mutation, size, fallback):
        self.mutation = mutation
        self.size = size
        self.fallback = fallback

    def successors(self, world):
        yield from self.network(world)
        for i, owner in enumerate(world.owners):
            if owner.phase in ("dead", "fenced"):
                continue
            yield from self.take_over(world, i, owner)
            yield from self.work(world, i, owner)
            yield from self.collect(world, i, owner)
            if owner.phase != "idle":
                yield f"P{i} crashes", with_owner(world, i, phase="dead", plan=None), ""
        manifests = [number for number, record in world.slots if record.kind == "manifest"]
        if self.fallback and not world.damaged and len(manifests) > 1:
            yield f"slot {max(manifests)} is damaged", world._replace(damaged=max(manifests)), ""

    # Requests

    def network(self, world):
        for request in sorted(world.network):
            number, record = request
            i = record.writer
            owner = world.owners[i]
            awaited = (
                owner.phase in ("taking", "storing") and owner.slot == number and owner.sent == record)
            arrived = world._replace(network=world.network - {request})
            found = get(world.slots, number)
            if found is None:
                slots = tuple(sorted(world.slots + (request,)))
                yield f"{text(request)} is stored, the answer is lost", arrived._replace(slots=slots), ""
                # A second copy of the request may still be on its way.
                yield f"{text(request)} is stored, a copy comes later", world._replace(slots=slots), ""
                if awaited:
                    yield f"{text(request)} is stored", self.answered(
                        arrived._replace(slots=slots), i, owner), ""
            elif not awaited:
                yield f"{text(request)} is refused, nobody waits", arrived, ""
            elif self.is_same(found, record):
                yield f"{text(request)} is found to be stored already", self.answered(
                    arrived, i, owner), ""
            elif record.kind == "takeover":
                yield f"{text(request)} is refused", with_owner(
                    arrived, i, phase="listed", slot=greatest(world) + 1), ""
            else:
                yield f"{text(request)} is refused: P{i} is fenced", with_owner(
                    arrived, i, phase="fenced", plan=None), ""

    def is_same(self, found, record):
        if self.mutation == "equal-takeover-records" and found.kind == record.kind == "takeover":
            return True
        return found == record

    def answered(self, world, i, owner):
        if owner.phase == "taking":
            return with_owner(world, i, phase="taken", sent=None, repeats=0)
        record = owner.sent
        return with_owner(
            world, i,
            phase="working",
            slot=owner.slot + 1,
            offset=record.offset,
            blobs=record.blobs,
            transactions=record.transactions,
            sent=None,
            repeats=0)

    # Takeover

    def take_over(self, world, i, owner):
        if owner.phase == "idle" and (i == 0 or world.owners[i - 1].phase != "idle"):
            yield f"P{i} lists, the greatest slot is {greatest(world)}", with_owner(
                world, i, phase="listed", slot=greatest(world) + 1), ""
        elif owner.phase == "listed" and owner.slot <= self.size.slots:
            record = Record("takeover", i, 0, (), ())
            yield f"P{i} puts a takeover record into slot {owner.slot}", with_owner(
                world._replace(network=world.network | {(owner.slot, record)}), i,
                phase="taking", sent=record, repeats=0), ""
        elif owner.phase in ("taking", "storing") and owner.repeats < 1:
            yield f"P{i} repeats the put into slot {owner.slot}", with_owner(
                world._replace(network=world.network | {(owner.slot, owner.sent)}), i,
                repeats=owner.repeats + 1), ""
        elif owner.phase == "taken":
            if self.mutation != "no-second-listing" and greatest(world) > owner.slot:
                yield f"P{i} lists again, slot {greatest(world)} is greater: not the owner", with_owner(
                    world, i, phase="listed", slot=greatest(world) + 1), ""
            else:
                yield f"P{i} is the owner from slot {owner.slot} on", with_owner(
                    world, i, phase="owner"), ""
        elif owner.phase == "owner":
            yield from self.restore(world, i, owner)
        elif owner.phase == "restored":
            yield from self.roll_back(world, i, owner)

    def restore(self, world, i, owner):
        below = [
            (number, record) for number, record in reversed(world.slots)
            if record.kind == "manifest" and number < owner.slot]
        fell_back = bool(below) and below[0][0] == world.damaged
        if fell_back:
            below = below[1:]
            if not below:
                return
        is_owner = greatest(world) == owner.slot
        if not below:
            yield f"P{i} starts with nothing", with_owner(
                world, i, phase="restored", slot=owner.slot + 1), ""
            return
        number, record = below[0]
        missing = [blob for blob in record.blobs if blob not in world.blobs]
        if missing:
            yield f"P{i} cannot restore slot {number}", with_owner(world, i, phase="dead"), (
                f"slot {number} lacks {names(missing)}" if is_owner and not fell_back else "")
            return
        blobs = record.blobs
        if fell_back and self.mutation != "fallback-reuses-blobs":
            blobs = ()
        yield f"P{i} restores slot {number}, offset {record.offset}", with_owner(
            world, i,
            phase="restored",
            slot=owner.slot + 1,
            offset=record.offset,
            blobs=blobs,
            transactions=record.transactions), self.lost(world, record) if is_owner else ""

    def lost(self, world, record):
        # A fallback breaks exactly-once for what the skipped checkpoint covered, and says so.
        if self.fallback:
            return ""
        for offset in range(1, record.offset + 1):
            if any(key[1] == offset and state == "committed" for key, state in world.sink):
                continue
            if not any(
                    key[1] == offset and get(world.sink, key) != "rolled back"
                    for key in record.transactions):
                return f"the output of offset {offset} is lost"
        return ""

    def roll_back(self, world, i, owner):
        gone = []
        for key, state in world.sink:
            others = key[0] != i if self.mutation == "roll-back-every-other" else (
                self.is_older(world, key[0], owner.slot - 1))
            if state == "prepared" and key not in owner.transactions and others:
                gone.append(key)
        sink = tuple(
            (key, "rolled back" if key in gone else state) for key, state in world.sink)
        yield f"P{i} rolls back {names(gone)}", with_owner(
            world._replace(sink=sink), i, phase="working"), ""

    @staticmethod
    def is_older(world, incarnation, slot):
        taken = [
            number for number, record in world.slots
            if record.kind == "takeover" and record.writer == incarnation]
        return bool(taken) and max(taken) < slot

    # Work

    def work(self, world, i, owner):
        if owner.phase == "storing" and self.mutation == "unknown-is-abort":
            key = (i, owner.sent.offset)
            sink = tuple(
                (each, "rolled back" if each == key and state == "prepared" else state)
                for each, state in world.sink)
            yield f"P{i} takes the put into slot {owner.slot} for failed, rolls back {names([key])}", (
                with_owner(world._replace(sink=sink), i, phase="dead", plan=None)), ""
        if owner.phase != "working":
            return
        if owner.transactions:
            key = owner.transactions[0]
            state = get(world.sink, key)
            wrong = ""
            if state == "rolled back" and not self.fallback:
                wrong = f"transaction {names([key])} is committed, but was rolled back"
            twice = [
                each for each, other in world.sink
                if each[1] == key[1] and each != key and other == "committed"]
            if twice and not self.fallback:
                wrong = f"output of offset {key[1]} is committed twice: {names(twice + [key])}"
            yield f"P{i} commits {names([key])}", with_owner(
                world._replace(sink=put(world.sink, key, "committed")), i,
                transactions=owner.transactions[1:]), wrong
        offset = owner.offset + 1
        key = (i, offset)
        if offset > self.size.offsets or owner.slot > self.size.slots or get(world.sink, key) is not None:
            return
        listed = owner.transactions + (key,)
        if self.mutation == "own-transaction-only":
            listed = (key,)
        # On top of the blob before, or on a new materialization that needs nothing older.
        for blobs in sorted({owner.blobs[-1:] + (key,), (key,)}):
            record = Record("manifest", i, offset, blobs, listed)
            yield (
                f"P{i} stores blob {names([key])}, prepares, and puts the manifest of offset {offset},"
                f" which names {names(blobs)}, into slot {owner.slot}"), with_owner(
                world._replace(
                    blobs=world.blobs | {key},
                    network=world.network | {(owner.slot, record)},
                    sink=put(world.sink, key, "prepared")),
                i, phase="storing", sent=record, repeats=0), ""

    # Retention and garbage

    def collect(self, world, i, owner):
        if owner.plan is not None:
            slots, blobs = owner.plan
            yield f"P{i} deletes slots {list(slots)} and blobs {names(blobs)}", with_owner(
                world._replace(
                    slots=tuple(each for each in world.slots if each[0] not in slots),
                    blobs=world.blobs - set(blobs)),
                i, plan=None), ""
        elif owner.phase in ("working", "storing"):
            plan = self.plan(world, i, owner)
            if plan != ((), ()):
                yield f"P{i} plans to delete slots {list(plan[0])} and blobs {names(plan[1])}", (
                    with_owner(world, i, plan=plan)), ""

    def plan(self, world, i, owner):
        manifests = [
            (number, record) for number, record in reversed(world.slots) if record.kind == "manifest"]
        retained = manifests[:1]
        slots = [number for number, _ in manifests[1:]]
        needed = {blob for _, record in retained for blob in record.blobs}
        if self.mutation != "live-set-ignored":
            needed.update(owner.blobs)
            if owner.sent is not None:
                needed.update(owner.sent.blobs)
        if self.mutation == "takeover-records-collected" and retained:
            slots += [
                number for number, record in world.slots
                if record.kind == "takeover" and number < retained[0][0]]
        taken = max(
            (number for number, record in world.slots
             if record.kind == "takeover" and record.writer == i), default=0)
        garbage = [
            blob for blob in sorted(world.blobs)
            if blob not in needed
            and (self.mutation == "any-incarnation-deleted"
                 or blob[0] == i or self.is_older(world, blob[0], taken))]
        return tuple(sorted(slots)), tuple(garbage)


def violation(world):
    manifests = [each for each in world.slots if each[1].kind == "manifest"]
    if manifests:
        number, record = manifests[-1]
        missing = [blob for blob in record.blobs if blob not in world.blobs]
        if missing:
            return f"the newest manifest, slot {number}, lacks {names(missing)}"
    return ""


def greatest(world):
    return world.slots[-1][0] if world.slots else 0


def get(pairs, key):
    for each, value in pairs:
        if each == key:
            return value
    return None


def put(pairs, key, value):
    return tuple(sorted([each for each in pairs if each[0] != key] + [(key, value)]))


def with_owner(world, i, **changes):
    owner = world.owners[i]._replace(**changes)
    return world._replace(owners=world.owners[:i] + (owner,) + world.owners[i + 1:])


def names(keys):
    return ", ".join(f"P{writer}/{offset}" for writer, offset in keys) or "nothing"


def text(request):
    number, record = request
    what = "takeover record" if record.kind == "takeover" else f"manifest of offset {record.offset}"
    return f"P{record.writer}'s {what} for slot {number}"


def run(mutation, quick) -> Outcome:
    if mutation is not None:
        sizes = [Size(2, 6, 2)]
    elif quick:
        sizes = [Size(2, 4, 2)]
    else:
        sizes = [Size(2, 6, 2), Size(3, 4, 1)]
    cases = 0
    for size in sizes:
        for fallback in (False, True):
            if fallback and (size.owners > 2 or quick and mutation is None):
                continue
            if mutation == "fallback-reuses-blobs" and not fallback:
                continue
            initial = World((), frozenset(), frozenset(), (IDLE,) * size.owners, (), 0)
            model = Model(mutation, size, fallback)
            outcome = search(initial, model.successors, violation, limit=4_000_000)
            cases += outcome.cases
            if outcome.violation or not outcome.exhausted:
                return outcome._replace(cases=cases)
    return outcome._replace(cases=cases)
