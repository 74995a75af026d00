"""What all models share: an outcome, and the search through every order of steps.

A model is a Python module with

  RULES      the rules of docs/protocol.md that it checks
  MUTATIONS  name of a mutation -> Mutation: a rule that is switched off
  run(mutation, quick)  explores the model, with no mutation (None) or one, and returns an Outcome
"""

import collections

Mutation = collections.namedtuple("Mutation", "rules text")
"""rules: ids of docs/protocol.md that are broken; text: what the mutated protocol does instead."""

Outcome = collections.namedtuple("Outcome", "cases exhausted violation trace")
"""cases: states or histories looked at; violation: what went wrong, or ""; trace: the steps to it."""


def search(initial, successors, violation, limit):
    """Breadth first, so that the first violation has a shortest trace.

    initial      the first state; states are hashable
    successors   state -> iterable of (step, next state, what is wrong with the step, or "")
    violation    state -> what is wrong with it, or ""
    limit        of states; beyond it the search ends and is not exhausted
    """
    came_from = {initial: None}
    queue = collections.deque([initial])
    while queue:
        state = queue.popleft()
        for step, following, wrong in successors(state):
            if wrong:
                return Outcome(len(came_from), False, wrong, _trace(came_from, state) + [step])
            if following in came_from:
                continue
            came_from[following] = (state, step)
            wrong = violation(following)
            if wrong:
                return Outcome(len(came_from), False, wrong, _trace(came_from, following))
            queue.append(following)
        if len(came_from) > limit:
            return Outcome(len(came_from), False, "", [])
    return Outcome(len(came_from), True, "", [])


def _trace(came_from, state):
    steps = []
    while came_from[state]:
        state, step = came_from[state]
        steps.append(step)
    return steps[::-1]
