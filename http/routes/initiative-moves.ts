/**
 * Actions of owners on an initiative: ask for an assessment, decide, record actions and findings, end it. Each is one
 * message to its actor.
 */

import { digestOf } from '../../machines/digest.ts'
import { type FindingBody, finding, findingBody } from '../../machines/documents/finding.ts'
import {
  advanceBody,
  cancelBody,
  completeBody,
  decideBody,
  initiativeDocument,
  type OwnerActionBody,
  ownerActionBody,
  shownOwnerAction,
} from '../../machines/documents/initiative.ts'
import { deriveId, type IdPrefix } from '../../machines/ids.ts'
import type { InitiativeContext } from '../../machines/initiative/context.ts'
import { document } from '../../machines/initiative/view.ts'
import type { MessageBody, SnapshotOf } from '../../machines/machine.ts'
import type { Taken } from '../../runtime/api.ts'
import { viewOf } from '../../runtime/steward/member-views.ts'
import { askerOf, askNamed, IDEMPOTENCY_HEADER, type OnceName, randomId, readIdempotencyKey } from '../idempotency.ts'
import { onAccepted } from '../replies.ts'
import { refuseInitiative, visibleInitiative } from '../resources/initiatives.ts'
import { type Move, type Moved, moveRoute } from '../resources/moves.ts'
import { statedProject } from '../resources/projects.ts'
import type { Route, ServiceContext } from '../route.ts'
import type { Exchange } from '../wire/exchange.ts'

const AREA = 'initiatives'
const one = { description: 'The initiative.', schema: initiativeDocument }

type Initiative = SnapshotOf<InitiativeContext>

const initiatives: Moved<Initiative> = {
  path: '/api/initiatives/:name',
  noun: 'Initiative',
  area: AREA,
  answer: one,
  find: visibleInitiative,
  refOf: ({ context }) => ({ kind: 'initiative', id: context.name }),
  documentOf: (_, __, initiative) => document(initiative),
  refused: refuseInitiative,
}

const moves: readonly Move<Initiative>[] = [
  {
    name: 'complete',
    summary: 'Complete an initiative: affirm that the shared outcome is reached.',
    description: 'Steering ends; its members continue on their own.',
    body: { schema: completeBody },
  },
  {
    name: 'cancel',
    summary: 'Cancel an initiative, its members, and the work that it started.',
    body: { schema: cancelBody },
    more: ({ runtime }, { context }) => ({ items: viewOf(runtime, context).items.map(({ item_id }) => item_id) }),
  },
]

export function initiativeMoveRoutes(service: ServiceContext): readonly Route[] {
  const recorded = [ownerActionRoute(service), findingRoute(service)]
  return [
    advanceRoute(service),
    decideRoute(service),
    ...moves.map((move) => moveRoute(service, initiatives, move)),
    ...recorded,
  ]
}

/** A name for one request: that of a trigger, or the id derived from a key. */
interface Name {
  readonly name: string
  /** What the key or the trigger is for. */
  readonly what: string
  /** Digest of the request. */
  readonly fingerprint: string
}

/**
 * Sends the message to the initiative; under a name, or two, only once, for as long as keys are kept. The initiative itself
 * remembers only the newest names, so with many of them in a day it would take an old one for new.
 */
function ask(
  service: ServiceContext,
  exchange: Exchange,
  { context }: Initiative,
  message: MessageBody,
  [first, second]: readonly Name[],
  taken: (answer: Taken) => void,
): void {
  const ref = { kind: 'initiative', id: context.name } as const
  const reply = onAccepted(service, exchange, taken, refuseInitiative)
  if (first === undefined) {
    service.runtime.ask(ref, message, reply)
    return
  }
  // An initiative's name may be reused: requests to the earlier one do not count as repeats.
  const placed = ({ name, what, fingerprint }: Name): OnceName => {
    return { place: digestOf([ref.kind, context.name, context.created_at, name]), what, fingerprint }
  }
  const also = second && placed(second)
  askNamed(service, exchange, { ...placed(first), ref, make: () => message, also }, reply)
}

function advanceRoute(service: ServiceContext): Route {
  return {
    method: 'POST',
    path: '/api/initiatives/:name/advance',
    operation: 'advanceInitiative',
    area: AREA,
    summary: 'Request one read-only assessment of one member or of all.',
    description:
      'Assessments are paced on the campaign lane, one at a time: a request made during one waits. The same ' +
      '`trigger_id` (by default the Idempotency-Key) is assessed once; of both, either is recognized. Without either, ' +
      'a waiting request also answers later requests for the same.',
    access: { right: 'work.operate' },
    body: { schema: advanceBody, optional: true },
    headers: [IDEMPOTENCY_HEADER],
    answers: {
      200: { ...one, optionalHeaders: { 'Idempotent-Replay': '`true` if it was requested before.' } },
    },
    problems: ['not_found', 'illegal_move', 'idempotency_key_reused'],
    handle: (exchange) => {
      const asked = readAsked(service, exchange, 'trigger')
      if (asked === undefined) return
      const { body } = exchange
      const { member, trigger_id = asked.id } = body
      const about = member === undefined ? {} : { member }
      const what = 'assessment'
      const key = { name: asked.id, what, fingerprint: digestOf(body) }
      const trigger = { name: `advance ${trigger_id}`, what, fingerprint: digestOf(about) }
      const names = [...(asked.isKeyed ? [key] : []), ...(body.trigger_id === undefined ? [] : [trigger])]
      const said = { type: 'advance', trigger_id, ...(names.length > 0 ? {} : { unnamed: true }), ...about }
      askOnce(service, exchange, asked.initiative, said, names)
    },
  }
}

function decideRoute(service: ServiceContext): Route {
  return {
    method: 'POST',
    path: '/api/initiatives/:name/decide',
    operation: 'decideInitiative',
    area: AREA,
    summary: 'Record an owner decision for the members it concerns.',
    description: 'Every later assessment is given it. It answers the open questions about these members.',
    access: { right: 'work.operate' },
    body: { schema: decideBody },
    headers: [IDEMPOTENCY_HEADER],
    answers: {
      200: { ...one, optionalHeaders: { 'Idempotent-Replay': '`true` if this was decided before.' } },
    },
    problems: ['not_found', 'illegal_move', 'idempotency_key_reused'],
    handle: (exchange) => {
      const asked = readAsked(service, exchange, 'dec')
      if (asked === undefined) return
      const { body } = exchange
      const { id, isKeyed, initiative } = asked
      const names = isKeyed ? [{ name: id, what: 'decision', fingerprint: digestOf(body) }] : []
      askOnce(
        service,
        exchange,
        initiative,
        { type: 'decide', ...body, ...(isKeyed ? { decision_id: id } : {}) },
        names,
      )
    },
  }
}

/** Answers with the initiative, and marks an answer to a repeated request. */
function askOnce(
  service: ServiceContext,
  exchange: Exchange,
  initiative: Initiative,
  said: object,
  names: readonly Name[],
): void {
  const message = { by: exchange.by, ...said } as MessageBody
  ask(service, exchange, initiative, message, names, ({ repeat, snapshot }) => {
    if (repeat !== undefined) exchange.setHeader('Idempotent-Replay', 'true')
    exchange.answer(200, document(snapshot))
  })
}

/** The initiative asked, and an id for the request. Returns undefined if a problem was answered. */
function readAsked(service: ServiceContext, exchange: Exchange, prefix: IdPrefix) {
  const initiative = visibleInitiative(service, exchange)
  if (initiative === undefined) return undefined
  const key = readIdempotencyKey(exchange)
  if (!key.ok) return undefined
  return { initiative, id: madeId(service, exchange, initiative, prefix, key.key), isKeyed: key.key !== undefined }
}

/** An id derived from the key, scoped to the caller and the path; a random one without a key. */
function madeId(
  { runtime }: ServiceContext,
  { principal, path }: Exchange,
  { context }: Initiative,
  prefix: IdPrefix,
  key: string | undefined,
): string {
  if (key === undefined) return randomId(runtime, prefix)
  return deriveId(prefix, context.name, context.created_at, askerOf(principal), path, key)
}

function ownerActionRoute(service: ServiceContext): Route {
  return {
    method: 'POST',
    path: '/api/initiatives/:name/owner-actions',
    operation: 'recordInitiativeOwnerAction',
    area: AREA,
    summary: 'Record an owner action: a hold, a milestone, or an override for a member.',
    description: 'It binds later assessments, but requests none.',
    access: { right: 'work.operate' },
    body: { schema: ownerActionBody },
    headers: [IDEMPOTENCY_HEADER],
    answers: {
      201: { description: 'Recorded.', schema: shownOwnerAction },
      200: {
        description: 'Recorded earlier with this key.',
        schema: shownOwnerAction,
        headers: { 'Idempotent-Replay': '`true`' },
      },
    },
    problems: ['not_found', 'illegal_move', 'idempotency_key_reused'],
    handle: (exchange) => {
      const body = exchange.body as OwnerActionBody
      record(service, exchange, 'act', (id) => ({ type: 'record_owner_action', action_id: id, ...body }))
    },
  }
}

function findingRoute(service: ServiceContext): Route {
  return {
    method: 'POST',
    path: '/api/initiatives/:name/findings',
    operation: 'recordInitiativeFinding',
    area: AREA,
    summary: 'Record a finding, for members to use.',
    description: 'It is consumed when a cycle lands whose formation saw it. The newest 128 are kept.',
    access: { right: 'work.operate' },
    body: { schema: findingBody },
    headers: [IDEMPOTENCY_HEADER],
    answers: {
      201: { description: 'Recorded.', schema: finding },
      200: {
        description: 'Recorded earlier with this key.',
        schema: finding,
        headers: { 'Idempotent-Replay': '`true`' },
      },
    },
    problems: ['not_found', 'illegal_move', 'idempotency_key_reused', 'unknown_project'],
    handle: (exchange) => {
      const { kind = 'note', text, from, to, refs = [], audit } = exchange.body as FindingBody
      if (audit !== undefined && statedProject(service, exchange, audit.project, '/audit/project') === undefined) return
      record(service, exchange, 'find', (id, { context }) => ({
        type: 'record_finding',
        finding_id: id,
        kind,
        text,
        from: from ?? { kind: 'person', id: exchange.by.name },
        to: to === undefined || to.length === 0 ? context.members : to,
        refs,
        ...(audit === undefined ? {} : { audit }),
      }))
    },
  }
}

/** Adds one entry to the initiative's record, and answers with it. */
function record(
  service: ServiceContext,
  exchange: Exchange,
  prefix: 'act' | 'find',
  messageOf: (id: string, initiative: Initiative) => object,
): void {
  const asked = readAsked(service, exchange, prefix)
  if (asked === undefined) return
  const { initiative, id, isKeyed } = asked
  const what = prefix === 'act' ? 'owner action' : 'finding'
  const names = isKeyed ? [{ name: id, what, fingerprint: digestOf(exchange.body) }] : []
  const message = { by: exchange.by, ...messageOf(id, initiative) } as unknown as MessageBody
  ask(service, exchange, initiative, message, names, ({ repeat, snapshot }) => {
    const { owner_actions, findings } = document(snapshot)
    const made = owner_actions.find(({ action_id }) => action_id === id) ?? findings.find((one) => one.id === id)
    if (repeat === 'replay') exchange.setHeader('Idempotent-Replay', 'true')
    if (made !== undefined) return exchange.answer(repeat === 'replay' ? 200 : 201, made)
    exchange.problem('not_found', 'It was recorded, but newer ones have replaced it since.')
  })
}
