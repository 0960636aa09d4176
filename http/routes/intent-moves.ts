/** Moves of intent records, and the relationships between records. */
import {
  intentMoveBody,
  type RelationshipBody,
  relationshipBody,
  supersedeBody,
} from '../../machines/documents/intent-record.ts'
import type { IntentRecordContext } from '../../machines/intent-record/context.ts'
import { isGuiding } from '../../machines/intent-record.ts'
import { recordKey } from '../../machines/record-key.ts'
import type { Taken } from '../../runtime/api.ts'
import { mayDo } from '../access.ts'
import { holding } from '../holding.ts'
import { KeyedMutex } from '../keyed-mutex.ts'
import { findInLaterTurns } from '../later-turns.ts'
import { IF_MATCH_HEADER, readVersion } from '../preconditions.ts'
import {
  answerRecord,
  findRecord,
  type RecordMessage,
  type RecordSnapshot,
  tellRecord,
  visibleRecord,
} from '../resources/intent-records.ts'
import type { Route, ServiceContext } from '../route.ts'
import type { Exchange } from '../wire/exchange.ts'
import { INTENT_AREA, oneRecord } from './intent-records.ts'

const MOVES = {
  accept: 'Accept a record: from now on it guides runs.',
  activate: 'Make an accepted record active.',
  deprecate: 'Deprecate a record: it no longer guides runs.',
  contradict: 'Contradict a record: state that it is not true. Terminal.',
} as const

/**
 * Conflicts of one record, both stated by it and stated by others: each of its moves is sent to all of these records.
 */
const CONFLICTS_MAX = 64

export function intentMoveRoutes(service: ServiceContext): readonly Route[] {
  const endings = new Endings(service)
  return [
    ...Object.entries(MOVES).map(([move, summary]) => moveRoute(service, endings, move, summary)),
    supersedeRoute(service, endings),
    relateRoute(service),
    unrelateRoute(service),
  ]
}

/**
 * Runs the moves that end records of a project one at a time, each sent once the one before is on disk. So while a
 * record is to take another's place, no other move that would end it is under way: two records cannot take each other's
 * place, and a record that has ended cannot take any.
 */
class Endings {
  readonly #service: ServiceContext
  readonly #underWay = new KeyedMutex()

  constructor(service: ServiceContext) {
    this.#service = service
  }

  /**
   * Sends the record the message of `messageOf` once its turn has come; undefined means that a problem was answered.
   */
  tell(
    exchange: Exchange,
    record: RecordSnapshot,
    messageOf: () => RecordMessage | undefined,
    answered?: (taken: Taken) => void,
  ): void {
    this.#underWay.enter(record.context.project_id, exchange, (leave) => {
      holding(leave, (until) => {
        const message = messageOf()
        if (message !== undefined) tellRecord(this.#service, exchange, record, message, answered, until)
      })
    })
  }
}

function moveRoute(service: ServiceContext, endings: Endings, move: string, summary: string): Route {
  return {
    method: 'POST',
    path: `/api/intent-records/:id/${move}`,
    operation: `${move}IntentRecord`,
    area: INTENT_AREA,
    summary,
    description: 'With `If-Match` (the ETag that was read) it moves only if it is unchanged since.',
    access: { right: 'intent.accept' },
    body: { schema: intentMoveBody, optional: true },
    headers: [IF_MATCH_HEADER],
    answers: { 200: oneRecord },
    problems: ['not_found', 'illegal_move', 'precondition_failed'],
    handle: (exchange) => {
      const read = readVersion(exchange)
      const record = read === undefined ? undefined : visibleRecord(service, exchange)
      if (record === undefined) return
      const message = { type: move, ...exchange.body, ...read }
      if (move === 'contradict') endings.tell(exchange, record, () => message)
      else tellRecord(service, exchange, record, message)
    },
  }
}

function supersedeRoute(service: ServiceContext, endings: Endings): Route {
  return {
    method: 'POST',
    path: '/api/intent-records/:id/supersede',
    operation: 'supersedeIntentRecord',
    area: INTENT_AREA,
    summary: 'Supersede a record by another one, or by none. Terminal.',
    description:
      'Decided in one step of this record; the other record lists it in `supersedes` from its next turn on. A record that is ' +
      'contradicted or superseded cannot supersede another. With `If-Match` (the ETag that was read) it is superseded only ' +
      'if it is unchanged since.',
    access: { right: 'intent.accept' },
    body: { schema: supersedeBody, optional: true },
    headers: [IF_MATCH_HEADER],
    answers: { 200: oneRecord },
    problems: ['not_found', 'unknown_record', 'illegal_move', 'precondition_failed'],
    handle: (exchange) => {
      const read = readVersion(exchange)
      const record = read === undefined ? undefined : visibleRecord(service, exchange)
      if (record === undefined) return
      const { replacement: named, reason } = exchange.body as { replacement?: string; reason?: string }
      const said = { type: 'supersede', ...read, ...(reason === undefined ? {} : { reason }) }
      if (named === undefined) return endings.tell(exchange, record, () => said)
      const superseding = () => {
        const other = otherRecord(service, exchange, record, named, '/replacement')
        return other === undefined ? undefined : { ...said, ...asReplacement(other) }
      }
      endings.tell(exchange, record, superseding, (taken) => {
        const { id, superseded_by } = taken.snapshot.context
        const namesIt = ({ supersedes }: IntentRecordContext): boolean => supersedes.includes(id)
        answerWhenHeard(service, exchange, taken, superseded_by, namesIt)
      })
    },
  }
}

function asReplacement({ value, context }: RecordSnapshot) {
  const { id, project, slug } = context
  return { replacement: id, replacement_key: recordKey(project, slug), replacement_state: value }
}

/** The record of the same project that the body names. Returns undefined if 422 was answered. */
function otherRecord(
  service: ServiceContext,
  exchange: Exchange,
  { context }: RecordSnapshot,
  named: string,
  pointer: string,
): RecordSnapshot | undefined {
  const other = findRecord(service, named, context.project_id)
  if (other !== undefined) return other
  exchange.problem('unknown_record', `The project ${context.project} has no intent record ${named}.`, {
    errors: [{ pointer, detail: 'is not a record of the same project' }],
  })
  return undefined
}

function relateRoute(service: ServiceContext): Route {
  return {
    method: 'POST',
    path: '/api/intent-records/:id/relationships',
    operation: 'relateIntentRecord',
    area: INTENT_AREA,
    summary: 'State how a record relates to another record of its project.',
    description:
      'Stating it again changes nothing. Use `supersede` for a record that replaces another. `conflicts_with` needs ' +
      '`intent.accept` too if one of the two guides runs.',
    access: { right: 'intent.write' },
    body: { schema: relationshipBody },
    answers: { 200: oneRecord },
    problems: ['not_found', 'unknown_record', 'illegal_move'],
    handle: (exchange) => {
      const record = visibleRecord(service, exchange)
      if (record === undefined) return
      const { type: relation, to: named, notes } = exchange.body as RelationshipBody
      const other = otherRecord(service, exchange, record, named, '/to')
      if (other === undefined) return
      const { id: to, drift } = other.context
      const isNew = drift.conflicts[record.context.id] === undefined
      if (relation === 'conflicts_with' && isNew && Object.keys(drift.conflicts).length >= CONFLICTS_MAX) {
        return exchange.problem('illegal_move', `The record ${named} already has ${CONFLICTS_MAX} conflicts.`)
      }
      const rights = { to_guides: isGuiding(other.value), may_rewrite: mayDo(exchange.principal, 'intent.accept') }
      const message = { type: 'relate', relation, to, ...(notes === undefined ? {} : { notes }), ...rights }
      if (relation !== 'conflicts_with') {
        tellRecord(service, exchange, record, message)
        return
      }
      const knowsIt = ({ drift }: IntentRecordContext): boolean => drift.conflicts[record.context.id] !== undefined
      tellRecord(service, exchange, record, message, (taken) => answerWhenHeard(service, exchange, taken, to, knowsIt))
    },
  }
}

/** Answers once the other record has handled its message and its reply has come back. */
function answerWhenHeard(
  service: ServiceContext,
  exchange: Exchange,
  taken: Taken,
  otherId: string,
  hasHeard: (other: IntentRecordContext) => boolean,
): void {
  const heard = (): true | undefined => {
    const other = service.runtime.read({ kind: 'intent_record', id: otherId })
    return other === undefined || hasHeard(other.context) ? true : undefined
  }
  findInLaterTurns(service, exchange, heard, () =>
    service.runtime.platform.nextTurn(exchange.later(() => answerRecord(service, exchange, 200, taken))),
  )
}

function unrelateRoute(service: ServiceContext): Route {
  return {
    method: 'DELETE',
    path: '/api/intent-records/:id/relationships/:relationship_id',
    operation: 'unrelateIntentRecord',
    area: INTENT_AREA,
    summary: 'Remove a relationship.',
    description: 'Removing a conflict in which one side guides runs needs `intent.accept` too.',
    access: { right: 'intent.write' },
    answers: { 200: oneRecord },
    problems: ['not_found', 'illegal_move'],
    handle: (exchange) => {
      const record = visibleRecord(service, exchange)
      const relationship_id = exchange.params[1]!
      const may_rewrite = mayDo(exchange.principal, 'intent.accept')
      if (record !== undefined)
        tellRecord(service, exchange, record, { type: 'unrelate', relationship_id, may_rewrite })
    },
  }
}
