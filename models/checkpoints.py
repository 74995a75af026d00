"""One backend: its changelog, its materializations, its checkpoints, and what may be deleted.

The task thread writes changes, publishes `applied`, and triggers checkpoints. The materializer reads a
position, takes a snapshot of the table, and stores it; any run may fail. Blocks are stored in any order.
Checkpoints complete or are aborted in any order. The log is trimmed and blobs are collected at any
moment. Every order of these steps is explored.

What must hold after each step: the newest manifest names a materialization that is stored, whose files
hold nothing above the checkpoint's end and everything below its position, and all blocks between; and no
manifest follows one of a newer checkpoint.

The rules: P1 and P2 (position and upper bound of fuzzy files), P5 (trimming), P6 (a materialization may
fail), L3a (durable up to), C1 (order of the verdicts), C4 (what manifests reach is kept).

Size: 3 changes, each a block of its own, and 2 checkpoints, then 2 and 3; 2 materializations besides the
empty one; one manifest is retained. The quick run has 2 changes and 2 checkpoints. A table is written before its change is published,
so that `applied` lags by one change at most.
"""

import collections

from explore import Mutation, Outcome, search

RULES = ["P1", "P2", "P5", "P6", "L3a", "C1", "C4"]

MUTATIONS = {
    "position-after-snapshot": Mutation(
        ["P2"], "the position is read after the snapshot of the table, not before"),
    "named-before-return": Mutation(
        ["P2"], "a checkpoint is bound to a snapshot that had not returned at its trigger"),
    "published-is-upper-bound": Mutation(
        ["P1", "P2"], "`applied` is taken for an upper bound of the files; base chosen at completion"),
    "pending-forgotten": Mutation(
        ["P5"], "trimming and collection forget checkpoints that are triggered and have no verdict"),
    "trimmed-before-stored": Mutation(
        ["P5", "P6"], "the log is trimmed to the position of a materialization that is not stored yet"),
    "hole-jumped": Mutation(
        ["L3a"], "durable up to is the end of the newest stored block, whatever is missing below"),
    "completed-out-of-order": Mutation(
        ["C1"], "a checkpoint may be confirmed after a newer one"),
    "retained-forgotten": Mutation(
        ["C4"], "collection forgets what the retained manifest names"),
}

MATERIALIZATIONS = 3

State = collections.namedtuple("State", "table applied blocks snapshots pending manifests next_id")
"""table: changes in the table; applied: published; blocks: per change '-' active, 'queued', 'stored',
'deleted'; pending: checkpoints without verdict; manifests: stored, newest last."""

Snapshot = collections.namedtuple("Snapshot", "position files contained phase")
"""files: changes in its files; contained: upper bound as noted, or None; phase: 'started', 'taken',
'returned', 'stored', 'failed', 'deleted'."""

Checkpoint = collections.namedtuple("Checkpoint", "id end base")
"""base: index of the snapshot it stands on; None while that is not decided."""


def replaced(sequence, index, value):
    return sequence[:index] + (value,) + sequence[index + 1:]


def violation(state):
    if not state.manifests:
        return ""
    newest = state.manifests[-1]
    base = state.snapshots[newest.base]
    name = f"checkpoint {newest.id} with end {newest.end}"
    if any(each.id > newest.id for each in state.manifests):
        return f"{name} is the newest manifest and follows a newer checkpoint"
    if base.phase != "stored":
        return f"{name} names a materialization that is {base.phase}"
    if base.files > newest.end:
        return f"{name} names files that hold change {base.files - 1}"
    if base.files < base.position:
        return f"{name} replays from {base.position}, its files lack change {base.files}"
    for block in range(base.position, newest.end):
        if state.blocks[block] != "stored":
            return f"{name} replays from {base.position} and lacks block {block}: {state.blocks[block]}"
    return ""


def successors(state, mutation, checkpoints):
    """Every next step: (what happens, the state after it, "")."""
    yield from task(state, mutation, checkpoints)
    yield from materializer(state, mutation)
    for block, phase in enumerate(state.blocks):
        if phase == "queued":
            yield f"block {block} is stored", state._replace(
                blocks=replaced(state.blocks, block, "stored")), ""
    yield from verdicts(state, mutation)
    yield from deletion(state, mutation)


def task(state, mutation, checkpoints):
    if state.table < len(state.blocks) and state.table == state.applied:
        yield f"task writes change {state.table} into the table", state._replace(
            table=state.table + 1), ""
    if state.applied < state.table:
        yield f"task logs it and publishes applied = {state.table}", state._replace(
            applied=state.table), ""
    if state.applied == state.table and state.next_id < checkpoints:
        end = state.table
        # Step 2 of a materialization: the end of the first checkpoint after its return.
        snapshots = tuple(
            each._replace(contained=end)
            if each.contained is None and each.phase in ("returned", "stored") else each
            for each in state.snapshots)
        base = newest_base(snapshots, end, mutation)
        if mutation == "published-is-upper-bound":
            base = None
        blocks = tuple(
            "queued" if phase == "-" and i < end else phase for i, phase in enumerate(state.blocks))
        yield f"task triggers checkpoint {state.next_id} with end {end}", state._replace(
            blocks=blocks,
            snapshots=snapshots,
            pending=state.pending + (Checkpoint(state.next_id, end, base),),
            next_id=state.next_id + 1), ""


def newest_base(snapshots, end, mutation):
    usable = ["stored"]
    if mutation == "named-before-return":
        usable = ["started", "taken", "returned", "stored"]
    return max(
        i for i, each in enumerate(snapshots)
        if each.phase in usable
        and (mutation == "named-before-return"
             or each.contained is not None and each.contained <= end))


def materializer(state, mutation):
    busy = [i for i, each in enumerate(state.snapshots) if each.phase in ("started", "taken", "returned")]
    if not busy and len(state.snapshots) < MATERIALIZATIONS:
        yield f"materializer reads position {state.applied}", state._replace(
            snapshots=state.snapshots + (Snapshot(state.applied, 0, None, "started"),)), ""
    for i in busy:
        each = state.snapshots[i]
        if each.phase == "started":
            yield f"snapshot {i} is taken: changes below {state.table}", with_snapshot(
                state, i, each._replace(files=state.table, phase="taken")), ""
        elif each.phase == "taken":
            done = each._replace(phase="returned")
            if mutation == "position-after-snapshot":
                done = done._replace(position=state.applied)
            if mutation == "published-is-upper-bound":
                done = done._replace(contained=state.applied)
            yield f"snapshot {i} returns", with_snapshot(state, i, done), ""
        else:
            yield f"materialization {i} is stored, position {each.position}", with_snapshot(
                state, i, each._replace(phase="stored")), ""
        yield f"materialization {i} fails", with_snapshot(state, i, each._replace(phase="failed")), ""


def with_snapshot(state, index, snapshot):
    return state._replace(snapshots=replaced(state.snapshots, index, snapshot))


def verdicts(state, mutation):
    for checkpoint in state.pending:
        rest = tuple(each for each in state.pending if each != checkpoint)
        yield f"checkpoint {checkpoint.id} is aborted", state._replace(pending=rest), ""
        base = checkpoint.base
        if base is None:
            base = max(
                i for i, each in enumerate(state.snapshots)
                if each.phase in ("stored", "deleted") and each.contained is not None
                and each.contained <= checkpoint.end)
        if state.snapshots[base].phase not in ("stored", "deleted"):
            continue
        if not is_durable(state.blocks, state.snapshots[base].position, checkpoint.end, mutation):
            continue
        if mutation != "completed-out-of-order":
            if any(each.id > checkpoint.id for each in state.manifests):
                continue
            rest = tuple(each for each in rest if each.id > checkpoint.id)
        yield f"checkpoint {checkpoint.id} is confirmed on materialization {base}", state._replace(
            pending=rest, manifests=state.manifests + (checkpoint._replace(base=base),)), ""


def is_durable(blocks, position, end, mutation):
    if mutation == "hole-jumped":
        return end == 0 or any(phase == "stored" for phase in blocks[end - 1:])
    # What was stored and deleted meanwhile counts: the handle still names it.
    return all(phase in ("stored", "deleted") for phase in blocks[position:end])


def deletion(state, mutation):
    if len(state.manifests) > 1:
        yield f"checkpoint {state.manifests[0].id} is subsumed", state._replace(
            manifests=state.manifests[-1:]), ""
    stored = [i for i, each in enumerate(state.snapshots) if each.phase == "stored"]
    newest = max(stored)
    trim = state.snapshots[newest].position
    if mutation == "trimmed-before-stored":
        trim = max(
            each.position for each in state.snapshots if each.phase not in ("failed", "deleted"))
    # Those without a noted upper bound are not usable by any checkpoint yet, but the next one is.
    kept = {newest}
    usable = [i for i in stored if state.snapshots[i].contained is not None]
    if usable:
        kept.add(max(usable))
    positions = [trim]
    named = [] if mutation == "pending-forgotten" else list(state.pending)
    if mutation != "retained-forgotten":
        named += state.manifests
    for each in named:
        if each.base is not None:
            kept.add(each.base)
            positions.append(state.snapshots[each.base].position)
        else:
            kept.update(stored)
            positions += [state.snapshots[i].position for i in stored]
    blocks = tuple(
        "deleted" if i < min(positions) and phase == "stored" else phase
        for i, phase in enumerate(state.blocks))
    snapshots = tuple(
        each if i in kept or each.phase != "stored" else each._replace(phase="deleted")
        for i, each in enumerate(state.snapshots))
    if blocks != state.blocks or snapshots != state.snapshots:
        yield f"log is trimmed to {min(positions)}, garbage is deleted", state._replace(
            blocks=blocks, snapshots=snapshots), ""


def run(mutation, quick) -> Outcome:
    if mutation is not None:
        sizes = [(3, 3)]  # each shows long before this is explored
    elif quick:
        sizes = [(2, 2)]
    else:
        sizes = [(3, 2), (2, 3)]
    cases = 0
    for changes, checkpoints in sizes:
        initial = State(
            table=0,
            applied=0,
            blocks=("-",) * changes,
            snapshots=(Snapshot(0, 0, 0, "stored"),),
            pending=(),
            manifests=(),
            next_id=0)
        outcome = search(
            initial,
            lambda state, count=checkpoints: successors(state, mutation, count),
            violation,
            limit=4_000_000)
        cases += outcome.cases
        if outcome.violation or not outcome.exhausted:
            break
    return outcome._replace(cases=cases)
