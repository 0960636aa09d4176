/**
 * Faults to be planted in the sources, one at a time, to see whether the simulation finds them. Each is a small edit:
 * `from` stands in the file exactly once. What somebody might really get wrong, not what any test would notice at once.
 */

export interface Edit {
  readonly file: string
  readonly from: string
  readonly to: string
}

export interface Fault {
  readonly name: string
  readonly edits: readonly Edit[]
}

const fault = (name: string, file: string, from: string, to: string): Fault => ({ name, edits: [{ file, from, to }] })

export const faults: readonly Fault[] = [
  {
    name: 'the answer is given before the flush',
    edits: [
      {
        file: 'runtime/runtime.ts',
        from: '    let isAnswered = false\n    try {\n',
        to: '    let isAnswered = false\n    this.settle(batch, this.journal.lastSequence)\n    try {\n',
      },
      {
        file: 'runtime/runtime.ts',
        from: '    this.settle(batch, baseSequence)\n',
        to: '',
      },
    ],
  },
  fault(
    'messages to other actors are not kept for a restart',
    'storage/view/fold.ts',
    '      this.outbox.set(outboxName(key.kind, key.id, key.n), { key, row })\n',
    '      this.outbox.set(outboxName(key.kind, key.id, key.n), { key, row: undefined })\n',
  ),
  {
    name: 'a message is delivered twice, and its receiver steps both times',
    edits: [
      {
        file: 'runtime/runtime.ts',
        from: 'for (const row of this.journal.outbox()) this.send(row, row)',
        to: 'for (const row of this.journal.outbox()) for (let twice = 0; twice < 2; twice++) this.send(row, row)',
      },
      {
        file: 'runtime/batch.ts',
        from: "const alreadyApplied = mail.source.from === 'outbox' && isApplied(before, mail.source.row)",
        to: "const alreadyApplied = mail.source.from === 'outbox' && isApplied(before, { ...mail.source.row, n: Infinity })",
      },
    ],
  },
  fault(
    'a recreated entity counts its messages from 1 again',
    'runtime/message-number.ts',
    'COUNTED_FROM_ONE_MAX + sequence * ROOM_PER_EVENT + 1',
    'COUNTED_FROM_ONE_MAX + 1',
  ),
  fault(
    'a lease ends one millisecond early',
    'runtime/time/deadlines.ts',
    '  armed.dueMs = nowMs + armed.deadline.afterMs\n',
    '  armed.dueMs = nowMs + armed.deadline.afterMs - 1\n',
  ),
  fault(
    'a heartbeat does not renew the lease',
    'runtime/time/deadlines.ts',
    'if (one.deadline.renewedBy.length > 0) restart(one, nowMs)',
    'if (one.deadline.renewedBy.length === 0) restart(one, nowMs)',
  ),
  fault(
    'any post about a run renews its lease',
    'runtime/time/deadlines.ts',
    'if (one.deadline.renewedBy.includes(type)) restart(one, nowMs)',
    'if (one.deadline.renewedBy.length > 0) restart(one, nowMs)',
  ),
  fault(
    'a runner takes one more than its capacity',
    'runtime/dispatch/runner.ts',
    'this.held.size >= this.capacity',
    'this.held.size > this.capacity',
  ),
  fault(
    'a runner is offered a second request beside the first',
    'runtime/dispatch/runner.ts',
    'this.isGiven && this.offer === undefined && !this.isFull',
    'this.isGiven && !this.isFull',
  ),
  fault(
    'a runner whose provider is away is offered work',
    'runtime/dispatch/runner.ts',
    "this.state === 'registered' && this.limit === undefined && !this.isAboutToBeLimited",
    "this.state === 'registered'",
  ),
  fault(
    'the attempt is not raised when a request is queued again',
    'machines/run-request/moves.ts',
    '    attempt: attempt + 1,\n',
    '    attempt,\n',
  ),
  fault(
    'posts for older attempts are accepted',
    'machines/run-request/rules.ts',
    '(post.attempt ?? 1) === context.attempt\n',
    '(post.attempt ?? 1) <= context.attempt\n',
  ),
  fault(
    "a former holder's posts are accepted",
    'machines/run-request/rules.ts',
    'return post.runner_id === context.offered_to && (post.attempt',
    'return context.internal.held_by.includes(post.runner_id) && (post.attempt',
  ),
  {
    name: 'the marker of the view is written before its rows',
    edits: [
      {
        file: 'storage/view/view.ts',
        from: '    await this.#tables.env.commit(() => this.#put(fold, marker, isHurried))\n',
        to:
          '    await this.#tables.env.commit(() => {\n      this.#tables.marker.put(MARKER, JSON.stringify(marker))\n    })\n' +
          '    await this.#tables.env.commit(() => this.#put(fold, marker, isHurried))\n',
      },
      {
        file: 'storage/view/view.ts',
        from: '    }\n    this.#tables.marker.put(MARKER, JSON.stringify(marker))\n',
        to: '    }\n',
      },
    ],
  },
  fault(
    'an actor is read from the view alone, without batches that are not applied yet',
    'storage/disk-journal.ts',
    '    if (record !== undefined) return record\n    return this.#leaving',
    '    if (record === null) return record\n    return this.#leaving',
  ),
  fault(
    'an event is looked up in the view alone',
    'storage/disk-journal.ts',
    'this.#applier.overlay((fold) => fold.eventSequence(project, traceId, eventId)) ??',
    'this.#applier.overlay<number>(() => undefined) ??',
  ),
  {
    name: 'a watcher that retention has overtaken goes on at the oldest event',
    edits: [
      {
        file: 'runtime/stream/log-window.ts',
        from: '    if (page.oldestSequence > after + 1) return undefined\n',
        to: '',
      },
      {
        file: 'runtime/stream/log-window.ts',
        from: '    if (first.sequence !== after + 1) throw',
        to: '    if (first.sequence < after + 1) throw',
      },
    ],
  },
  fault(
    'a parked watcher misses what was published meanwhile',
    'runtime/stream/event-stream.ts',
    '      member.cursor = n === frames.length ? this.#published : member.told\n',
    '      member.cursor = this.#published\n',
  ),
  fault(
    'a watcher is not resumed when its connection has drained',
    'runtime/stream/event-stream.ts',
    '        this.#unsent.gone(subscriber)\n        this.#resume(subscriber)\n',
    '        this.#unsent.gone(subscriber)\n',
  ),
  fault(
    'timers are not read again after a restart',
    'runtime/time/timers.ts',
    'if (!this.isTaken(row)) this.push({ kind: row.kind as ActorRef',
    'if (this.isTaken(row)) this.push({ kind: row.kind as ActorRef',
  ),
  fault(
    'timers are not kept for a restart',
    'storage/view/fold.ts',
    '    for (const timer of step.timersSet) this.#timer(step, timer.name, timer.dueMs, timer)\n',
    '',
  ),
  fault(
    'an idempotency key expires too early',
    'machines/run-request/rules.ts',
    'message.atMs >= settledMs + limits.idempotency_ms',
    'message.atMs >= settledMs',
  ),
  fault(
    'the row from a key to its newest request is not written',
    'storage/view/fold.ts',
    'if (reserved !== undefined) two(',
    'if (reserved === null) two(',
  ),
  fault('a kept key is forgotten at once', 'runtime/retention.ts', 'isKeyOver(value, nowMs)', "value !== ''"),
  fault('a kept key is never forgotten', 'runtime/retention.ts', '    await this.sweepKeys(nowMs)\n', ''),
  fault(
    'retention removes one event too many',
    'storage/retention/forgetter.ts',
    "      if (age === 'young') break\n",
    "      if (age === 'young' && identity !== undefined && certain > 0) {\n" +
      '        leaving.push({ sequence: walked.sequence, identity, mayBeBack: false })\n' +
      '        return { events: leaving, next: walked.next, more: false }\n' +
      '      }\n' +
      "      if (age === 'young') break\n",
  ),
  fault(
    'retention removes events a second too early',
    'storage/retention/forgetter.ts',
    'identity.recordedMs < recordedBeforeMs',
    'identity.recordedMs - 1_000 < recordedBeforeMs',
  ),
  fault(
    'retention sweeps only once per process',
    'runtime/retention.ts',
    '        .finally(() => this.isStopped || this.sweepIn(retentionSweepMs))\n',
    '        .finally(() => this.isStopped)\n',
  ),
  fault(
    'the redo of a batch is deleted before the view has the batch',
    'storage/disk-journal.ts',
    '    this.#applier.add(written.batch)\n',
    '    this.#applier.add(written.batch)\n    this.#log.applied(written.batch.batch)\n',
  ),
  {
    name: 'a start does not flush what an earlier process wrote',
    edits: [
      { file: 'storage/disk-journal.ts', from: '    this.environments.log.env.sync()\n', to: '' },
      {
        file: 'storage/recovery.ts',
        from: '  log.begin()\n  try {\n',
        to: '  try {\n',
      },
    ],
  },
  fault(
    'a list does not wait for the view',
    'storage/disk-journal.ts',
    '    await this.#applier.reached(this.#log.lastBatch, query.waits === true ? undefined : LIST_WAIT_MS)\n',
    '',
  ),
  fault(
    'an entity stays listed under its old term',
    'storage/view/fold.ts',
    '    for (const term of step.termsRemoved) setTerm(entity.terms, term, false)\n',
    '',
  ),
  fault(
    'a lost run frees its repository',
    'runtime/dispatch/holdings.ts',
    "    if (state === 'lost') runner.held.delete(held)\n",
    "    if (state === 'lost') runner.held.delete(held)\n    if (state === 'lost' && held.repository !== undefined) this.holders.get(held.repository)?.delete(held)\n    if (state === 'lost' && held.repository !== undefined) this.holders.delete(held.repository)\n",
  ),
  fault(
    'a run joins those at work in a repository though the project of one of them permits no more',
    'runtime/writers.ts',
    '    for (const other of this.counts.keys()) limit = Math.min(limit, limitOf(other))\n',
    '',
  ),
  fault(
    'a lost run frees its place under the limit of its label',
    'runtime/dispatch/holdings.ts',
    "    if (state === 'lost') runner.held.delete(held)\n",
    "    if (state === 'lost') this.labels.delete(held)\n    if (state === 'lost') runner.held.delete(held)\n",
  ),
  fault(
    'what was under way before its label was limited does not count',
    'runtime/dispatch/label-limits.ts',
    '    for (const held of all) this.add(held)\n',
    '',
  ),
  fault(
    'a project with a weight gets no more turns than others',
    'runtime/dispatch/turns.ts',
    'weight === 1 ? this.#end : turn + (this.#end - turn) / weight',
    'this.#end',
  ),
  fault(
    'a project with a weight keeps its turn when it is served',
    'runtime/dispatch/turns.ts',
    'turn + (this.#end - turn) / weight',
    'turn',
  ),
  fault(
    'requests in a paused lane are still offered',
    'runtime/dispatch/matching.ts',
    '    if (this.suspensions.why(demand) !== undefined || this',
    "    if (this.suspensions.why(demand) === 'project_archived' || this",
  ),
  fault(
    'an item that was taken back is handed out while its run is being stopped',
    'machines/work-item/moves.ts',
    '  const isUnderWay = run !== undefined && run.reported !== true\n',
    '  const isUnderWay = run?.runner_id !== undefined && run.reported !== true\n',
  ),
  fault(
    'a new session does not end the runs of the old one',
    'machines/run-request/rules.ts',
    'if (attempt !== undefined) return attempt === context.attempt',
    'if (attempt !== undefined) return attempt < context.attempt',
  ),
  fault(
    'a different second result for an attempt is accepted as a repeat',
    'machines/run-request/rules.ts',
    'if (last === undefined || last.digest !== message.digest || last.type !== message.type) return false',
    'if (last === undefined || last.type !== message.type) return false',
  ),
  fault(
    'an expired request is offered',
    'machines/run-request/rules.ts',
    'if (expires_at !== undefined && instantMs(expires_at) <= atMs) return false\n',
    '',
  ),
  fault(
    'an offer whose poll is gone is forgotten',
    'runtime/dispatch/offers.ts',
    '!polls.answerNewest(runner, this.document(snapshot))) this.giveBack(held, why)',
    '!polls.answerNewest(runner, this.document(snapshot))) this.parts.holdings.drop(held)',
  ),
  fault(
    'an offer that could not be delivered is not returned',
    'runtime/dispatch/offers.ts',
    'this.document(snapshot))) this.giveBack(held, why)',
    'this.document(snapshot))) held.isDelivered = false',
  ),
  fault(
    'a freed slot wakes no poll',
    'runtime/dispatch/dispatcher.ts',
    '      runner: (runner) => this.changes.runners.add(runner),\n',
    '      runner: () => {},\n',
  ),
  fault(
    'a parked poll does not count as presence',
    'runtime/dispatch/fleet.ts',
    '    if (runner.polls.length > 0) runner.lastSeenMs = nowMs\n',
    '',
  ),
  fault(
    'a runner that does not come back after a restart stays online',
    'runtime/dispatch/fleet.ts',
    '    this.wheel.add(runner, nowMs + this.runtime.settings.presenceMs)\n',
    '',
  ),
  fault(
    'some intent records are not told of their observations',
    'machines/engine-run.ts',
    '    if (recordId === undefined) continue\n',
    "    if (recordId === undefined || recordId.endsWith('7')) continue\n",
  ),
  fault(
    'a conflicting record does not tell whether it guides runs',
    'machines/intent-record/notify.ts',
    "      if (said !== 'declared') return\n",
    "      if (said !== 'withdrawn') return\n",
  ),
  fault(
    'a start leaves the sessions that ran inside the service open',
    'runtime/entities/agent-sessions.ts',
    '        else sessions.set(open.id, left.at)\n',
    '',
  ),
  fault(
    'an agent session outlives its lost run',
    'runtime/entities/agent-sessions.ts',
    '  return { at, inMs: ',
    "  if (value === 'lost') return undefined\n  return { at, inMs: ",
  ),
  fault(
    'a late end of an agent session is counted again',
    'machines/agent-session.ts',
    "actions: ['end', 'recount']",
    "actions: ['end', 'count']",
  ),
  fault(
    'a kept result is counted again each time the campaign resumes',
    'machines/campaign/results.ts',
    'return pending?.event_id === last_run_event_id ? undefined : pending',
    'return pending',
  ),
  fault(
    'a cycle that no runner began is charged',
    'machines/campaign/cycles.ts',
    '  } else takeBack(draft)\n',
    '  }\n',
  ),
  fault(
    'an advance or assessment does not wait for an earlier one that is being stopped',
    'runtime/scheduler/read-only-runs.ts',
    'if (other !== id) return runId',
    'if (other === id) return runId',
  ),
  fault(
    'pausing a campaign does not stop its advance',
    'machines/campaign/owners.ts',
    "  standDown(draft, 'paused')\n",
    '',
  ),
  fault(
    'a steering request is assessed twice',
    'machines/initiative/rules.ts',
    '    internal.over.includes(trigger_id)\n',
    '    internal.over.length < 0\n',
  ),
  fault(
    'a finding is consumed by a cycle that did not land',
    'machines/initiative/cycles.ts',
    '  if (!hasLanded(message)) return before\n',
    "  if (message.state === 'cancelled') return before\n",
  ),
  fault(
    'a resumed sentinel waits for no time',
    'machines/sentinel.ts',
    "actions: ['start', moved('active'), 'arm'] },\n",
    "actions: ['start', moved('active')] },\n",
  ),
  fault(
    'a resumed sentinel waits for the time that a clock far ahead had shown',
    'machines/sentinel.ts',
    '  const internal = forgetting(context.internal, atMs)\n',
    '  const { internal } = context\n',
  ),
  fault(
    'a sentinel that has reckoned by a clock far ahead is silent until then',
    'machines/sentinel/times.ts',
    '  const internal = forgetting(context.internal, nowMs + AHEAD_MS_MAX)\n',
    '  const { internal } = context\n',
  ),
  fault(
    'a time that a sentinel missed is made up for',
    'machines/sentinel.ts',
    'message.atMs - instantMs(message.due_at) > LATE_MS_MAX',
    'message.atMs - instantMs(message.due_at) > 10 * LATE_MS_MAX',
  ),
  fault(
    'what a sentinel submits does not count until it is in the ledger',
    'runtime/scheduler/sentinels.ts',
    "  return withdraw === undefined ? { whyNot: { code: 'duplicate' } } : { withdraw }\n",
    '  return { withdraw: withdraw ?? (() => {}) }\n',
  ),
]
