/** Intent records: what a project means to keep. Written, found, changed; their moves are in intent-moves.ts. */

import { SLUG_PATTERN } from '../../machines/documents/fields.ts'
import {
  INTENT_STATES,
  type IntentRecordCreate,
  intentRecordCreateBody,
  intentRecordDocument,
  intentRecordPatchBody,
} from '../../machines/documents/intent-record.ts'
import { recordIdOfSlug } from '../../machines/ids.ts'
import { LEADS_OUT, placeOf, placesAround, placesOf } from '../../machines/intent-record/places.ts'
import { document } from '../../machines/intent-record/view.ts'
import { recordKey } from '../../machines/record-key.ts'
import { Type } from '../../machines/schema.ts'
import type { MessageBody, Refused, Taken } from '../../runtime/api.ts'
import { mayDo } from '../access.ts'
import { createNamed, IDEMPOTENCY_HEADER, readIdempotencyKey } from '../idempotency.ts'
import { isAmong, listAnswer, listQuery, stateFilter } from '../lists.ts'
import { IF_MATCH_HEADER, requireVersion, setEntityTag } from '../preconditions.ts'
import { located, markCreated, markCursor, onReply, refuse } from '../replies.ts'
import {
  answerRecord,
  type RecordSnapshot,
  staysWithin,
  tellRecord,
  visibleRecord,
} from '../resources/intent-records.ts'
import { takesWork, visibleProject } from '../resources/projects.ts'
import { slugOf } from '../resources/slug.ts'
import type { Route, ServiceContext } from '../route.ts'
import { answerSections, type Section } from '../sections.ts'
import type { Exchange } from '../wire/exchange.ts'

export const INTENT_AREA = 'intent records'
const ENTITY_TAG = { ETag: 'The version, in quotes: send it as `If-Match` of a change.' }
export const oneRecord = { description: 'The record.', schema: intentRecordDocument, headers: ENTITY_TAG }
/** Longest path in a query, which also bounds the number of parent folders looked up. */
const PATH_CHARS_MAX = 512
const WORDS_CHARS_MAX = 200

const words = (description: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: WORDS_CHARS_MAX, description }))

/**
 * SPEC names product paths without `/api`. They are served both as named and beneath `/api`, where all other paths are.
 */
export const both = (path: string): readonly string[] => [path, `/api${path}`]

export function intentRecordRoutes(service: ServiceContext): readonly Route[] {
  const ofProject = both('/projects/:id/intent-records')
  return [
    ...ofProject.map((path) => createRoute(service, path)),
    ...ofProject.map((path) => listRoute(service, path)),
    readRoute(service),
    patchRoute(service),
  ]
}

function createRoute(service: ServiceContext, path: string): Route {
  return {
    method: 'POST',
    path,
    operation: 'createIntentRecord',
    area: INTENT_AREA,
    summary: 'Create an intent record: proposed until somebody accepts it.',
    description: 'Its slug never changes; if omitted, it is derived from the title.',
    access: { right: 'intent.write' },
    body: { schema: intentRecordCreateBody },
    headers: [IDEMPOTENCY_HEADER],
    answers: {
      201: located(oneRecord),
      200: {
        ...oneRecord,
        description: 'The record created earlier with this key.',
        headers: { ...ENTITY_TAG, 'Idempotent-Replay': '`true`' },
      },
    },
    problems: ['not_found', 'project_archived', 'already_exists', 'idempotency_key_reused'],
    handle: (exchange) => create(service, exchange),
  }
}

function create(service: ServiceContext, exchange: Exchange): void {
  const project = visibleProject(service, exchange, exchange.params[0]!)
  if (project === undefined) return
  const { id: project_id, key } = project.context
  const body = exchange.body as IntentRecordCreate
  const { slug: given, state, ...content } = body
  const slug = given ?? slugOf(body.title, SLUG_PATTERN)
  if (slug === undefined) {
    exchange.problem('invalid_body', 'No slug can be derived from the title: give one.', {
      errors: [{ pointer: '/slug', detail: 'is missing, and the title has no letter or digit to derive it from' }],
    })
    return
  }
  const idempotency = readIdempotencyKey(exchange)
  if (!idempotency.ok) return
  const id = recordIdOfSlug(project_id, slug)
  const message = {
    type: 'create',
    by: exchange.by,
    id,
    project: key,
    project_id,
    slug,
    content,
    ...(state === undefined ? {} : { state }),
  } as MessageBody
  const make = () =>
    takesWork(exchange, project) && staysWithin(exchange, content.scope, '/scope') ? message : undefined
  const named = { ref: { kind: 'intent_record', id }, body, make } as const
  const made = (taken: Taken): void => {
    const status = markCreated(exchange, taken.repeat, `/api/intent-records/${taken.snapshot.context.id}`)
    answerRecord(service, exchange, status, taken)
  }
  const refused = (_: Exchange, answer: Refused): void => {
    if (answer.refusal.code !== 'already_exists') refuse(exchange, answer)
    else exchange.problem('already_exists', `The record ${recordKey(key, slug)} already exists: give another slug.`)
  }
  createNamed(service, exchange, idempotency.key, named, onReply(exchange, made, refused))
}

function listRoute(service: ServiceContext, path: string): Route {
  return {
    method: 'GET',
    path,
    operation: 'listIntentRecords',
    area: INTENT_AREA,
    summary: 'List the intent records of a project.',
    description:
      'With `path`, records whose scope names exactly that path come first, then those of its parent folders, `.` last. ' +
      'State and path are indexed; a filter by words, all of which must be found, in any order, may return a short ' +
      'page with a cursor to continue.',
    access: { right: 'view' },
    query: listQuery({
      state: stateFilter(INTENT_STATES, 'Only records in one of these states.'),
      path: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: PATH_CHARS_MAX,
          description: 'Only records whose scope covers this path, which must stay within the repository.',
        }),
      ),
      title: words('Only records whose title contains these words.'),
      capability: words('Only records whose capability contains these words.'),
      threat: words('Only records whose threat contains these words.'),
      strategy: words('Only records whose strategy contains these words.'),
    }),
    answers: { 200: listAnswer(intentRecordDocument, 'Records, newest first.') },
    problems: ['not_found'],
    handle: (exchange) => {
      const project = visibleProject(service, exchange, exchange.params[0]!)
      if (project === undefined) return
      const { path } = exchange.query
      const place = path === undefined ? undefined : placeOf(path)
      if (path !== undefined && place === undefined) {
        const errors = [{ pointer: '/path', detail: LEADS_OUT }]
        return exchange.problem('invalid_query', 'The query parameters named in `errors` are invalid.', { errors })
      }
      answerSections(service, exchange, () => sectionsOf(project.context.key, exchange.query, place))
    },
  }
}

type Filters = Readonly<Record<string, any>>

function sectionsOf(project: string, query: Filters, asked: string | undefined): readonly Section[] {
  const states: readonly string[] | undefined = query.state
  const list = { kind: 'intent_record', document } as const
  const says = saysWhatIsAsked(query)
  if (asked === undefined) {
    const value = states?.map((state) => `${project}/${state}`) ?? project
    return [{ ...list, name: 'all', index: states === undefined ? 'project' : 'state', value, matches: says }]
  }
  const places = placesAround(asked)
  return places.map((place, index) => ({
    ...list,
    name: `place ${index}`,
    index: 'path',
    value: `${project}/${place}`,
    matches: (snapshot: RecordSnapshot) =>
      isAmong(states, snapshot.value) && nearest(snapshot, places) === place && says(snapshot),
  }))
}

/** The nearest of the places in the record's scope, so that a record that names several is listed once. */
function nearest({ context }: RecordSnapshot, places: readonly string[]): string | undefined {
  const named = placesOf(context.content)
  return places.find((place) => named.has(place))
}

function saysWhatIsAsked(query: Filters): (snapshot: RecordSnapshot) => boolean {
  const asked = (['title', 'capability', 'threat', 'strategy'] as const).flatMap((member) => {
    const text: string | undefined = query[member]
    return text === undefined ? [] : [{ member, words: text.toLowerCase().split(/\s+/) }]
  })
  return ({ context }) =>
    asked.every(({ member, words }) => {
      const text = context.content[member]?.toLowerCase()
      return text !== undefined && words.every((word) => text.includes(word))
    })
}

function readRoute(service: ServiceContext): Route {
  return {
    method: 'GET',
    path: '/api/intent-records/:id',
    operation: 'readIntentRecord',
    area: INTENT_AREA,
    summary: 'Read an intent record, by its id or its key.',
    access: { right: 'view' },
    answers: { 200: oneRecord },
    problems: ['not_found'],
    handle: (exchange) => {
      const record = visibleRecord(service, exchange)
      if (record === undefined) return
      markCursor(service, exchange)
      setEntityTag(exchange, record.context.version).answer(200, document(record))
    },
  }
}

function patchRoute(service: ServiceContext): Route {
  return {
    method: 'PATCH',
    path: '/api/intent-records/:id',
    operation: 'updateIntentRecord',
    area: INTENT_AREA,
    summary: 'Change the content of a record, making a new version. An accepted record needs `intent.accept` too.',
    description:
      'Needs `If-Match` with the ETag that was read, or `*`. A change that already took effect is answered 200 whatever the ' +
      'version (RFC 9110 section 13.1.1), so that a request whose answer was lost may be sent again.',
    access: { right: 'intent.write' },
    body: { schema: intentRecordPatchBody },
    headers: [IF_MATCH_HEADER],
    answers: { 200: oneRecord },
    problems: ['not_found', 'illegal_move', 'precondition_failed', 'precondition_required'],
    handle: (exchange) => {
      const record = visibleRecord(service, exchange)
      if (record === undefined) return
      const read = requireVersion(exchange)
      if (read === undefined) return
      const may_rewrite = mayDo(exchange.principal, 'intent.accept')
      tellRecord(service, exchange, record, { type: 'update', patch: exchange.body, ...read, may_rewrite })
    },
  }
}
