"""Replay of a changelog over table files that already hold an unknown part of it.

Two lists lie under one prefix. Changes append to a list, replace it, remove it, or remove both by their
prefix. The files of a materialization hold each list as it was anywhere between the position and the end
of the checkpoint. Replay starts at the position, or before it at the start of a block, and either applies
the changes one by one or coalesces them first. Every list operand carries the sequence number of its
change; a reader takes an operand only if its number is greater than the greatest taken before.

What must hold: after the replay both lists read as if every change had been applied once.

The rules: P4 (changes are idempotent in order) and R2 (coalescing).

Size: every sequence of up to 5 changes (quick: 4), every position and block start below it, every part of
the changes that the files may hold of each list. The same cases are run against the real classes by
ListReplayTest and ReplayModelTest.
"""

import itertools

from explore import Mutation, Outcome

RULES = ["P4", "R2"]

MUTATIONS = {
    "compared-with-the-one-before": Mutation(
        ["P4"], "an operand counts if its number is greater than that of the operand before it"),
    "replayed-above-position": Mutation(
        ["P4"], "replay starts at the first block above the position"),
    "merge-replaces-delete": Mutation(
        ["R2"], "an append after a removal stays an append when they are coalesced"),
    "joined-across-range-delete": Mutation(
        ["R2"], "appends before and after a range deletion are coalesced into one entry"),
    "joined-under-last-number": Mutation(
        ["R2"], "coalesced appends become one operand with the number of the last"),
    "joined-under-first-number": Mutation(
        ["R2"], "coalesced appends become one operand with the number of the first"),
    "skipped-by-first-number": Mutation(
        ["R2"], "a coalesced entry is skipped if its first change lies below the position"),
}

KEYS = (0, 1)
CHANGES = [
    ("append", 0), ("replace", 0), ("remove", 0),
    ("append", 1), ("replace", 1), ("remove", 1),
    ("remove all", None),
]


def apply(table, change, operands):
    """The table after a change: for each key a tuple of operands (number, elements)."""
    kind, key = change
    rows = list(table)
    if kind == "append":
        rows[key] += operands
    elif kind == "replace":
        rows[key] = operands
    elif kind == "remove":
        rows[key] = ()
    else:
        rows = [()] * len(KEYS)
    return tuple(rows)


def read(operands, mutation=None):
    elements = []
    greatest = -1
    for number, content in operands:
        if number > greatest:
            elements.extend(content)
        if mutation == "compared-with-the-one-before":
            greatest = number
        else:
            greatest = max(greatest, number)
    return elements


def operand(number):
    return ((number, (number,)),)


def coalesce(numbered, mutation):
    """Entries (first number, last number, change, operands), at most one for each key after range deletions."""
    entries = []
    chains = {}
    for number, (kind, key) in numbered:
        if kind == "remove all":
            if mutation != "joined-across-range-delete":
                chains.clear()
            entries.append((number, number, (kind, key), ()))
            continue
        first, _, change, before = chains.get(key, (number, number, None, ()))
        if kind == "append" and change is not None:
            if change[0] == "remove":
                change = ("append" if mutation == "merge-replaces-delete" else "replace", key)
                first = number
            chains[key] = (first, number, change, before + operand(number))
        else:
            own = operand(number) if kind != "remove" else ()
            chains[key] = (number, number, (kind, key), own)
    entries += chains.values()
    return sorted(entries, key=lambda entry: entry[1])


def joined(operands, mutation):
    if len(operands) < 2 or mutation not in ("joined-under-last-number", "joined-under-first-number"):
        return operands
    number = operands[-1 if mutation == "joined-under-last-number" else 0][0]
    return ((number, tuple(element for _, content in operands for element in content)),)


def replay(files, numbered, position, coalesced, mutation):
    table = files
    if not coalesced:
        for number, change in numbered:
            table = apply(table, change, operand(number))
        return table
    for first, last, change, operands in coalesce(numbered, mutation):
        compared = first if mutation == "skipped-by-first-number" else last
        if compared >= position:
            table = apply(table, change, joined(operands, mutation))
    return table


def run(mutation, quick) -> Outcome:
    longest = 4 if quick or mutation is not None else 5
    cases = 0
    for length in range(1, longest + 1):
        for changes in itertools.product(CHANGES, repeat=length):
            # The two lists are alike.
            if changes[0][1] == 1:
                continue
            looked_at, violation, trace = run_changes(changes, mutation)
            cases += looked_at
            if violation:
                return Outcome(cases, False, violation, trace)
    return Outcome(cases, True, "", [])


def run_changes(changes, mutation):
    end = len(changes)
    tables = [((), ())]
    for number, change in enumerate(changes):
        tables.append(apply(tables[-1], change, operand(number)))
    expected = [read(row) for row in tables[end]]
    cases = 0
    for block in range(end + 1):
        positions = range(block, min(block + 2, end + 1))
        if mutation == "replayed-above-position":
            positions = range(max(0, block - 1), block + 1)
        numbered = list(enumerate(changes))[block:]
        for position in positions:
            for held in itertools.product(range(position, end + 1), repeat=len(KEYS)):
                files = tuple(tables[held[key]][key] for key in KEYS)
                for coalesced in (False, True):
                    cases += 1
                    table = replay(files, numbered, position, coalesced, mutation)
                    found = [read(row, mutation) for row in table]
                    if found != expected:
                        how = "coalesced" if coalesced else "one by one"
                        return cases, f"read {found} and not {expected}", [
                            *(f"change {number}: {text(change)}" for number, change in enumerate(changes)),
                            f"position {position}; the files hold list 0 as of {held[0]}, list 1 as of"
                            f" {held[1]}",
                            f"changes from {block} on are replayed, {how}: {found}",
                        ]
    return cases, "", []


def text(change):
    return change[0] if change[1] is None else f"{change[0]} list {change[1]}"
