/**
 * The catalogue: the one list of event types, with what each means, carries, and who may state it. Invariant: a type is
 * declared once; whatever checks, routes or documents events asks here.
 *
 * There is no serializer per type: an event is sent as the canonical text it was recorded with (envelope.ts), and a
 * serializer made from a schema would drop the unknown members that payloads may carry.
 */
import { type Check, compile, type Fault, type Static } from '../schema.ts'
import { agentSessionEvents } from './agent-session.ts'
import { campaignEvents } from './campaign.ts'
import { dependencyEvents } from './dependencies.ts'
import { engineRunEvents } from './engine-run.ts'
import type { EventDefinition } from './event-type.ts'
import { findingEvents } from './finding.ts'
import { formationBriefEvents } from './formation-brief.ts'
import { gateEvents } from './gates.ts'
import { greetingEvents } from './greeting.ts'
import { initiativeEvents } from './initiative.ts'
import { intentEvents } from './intent.ts'
import { maintenanceEvents } from './maintenance.ts'
import { pacingEvents } from './pacing.ts'
import { projectEvents } from './project.ts'
import { releaseEvents } from './release.ts'
import { remediationEvents } from './remediation.ts'
import { runRequestEvents } from './run-request.ts'
import { runnerEvents } from './runner.ts'
import { sentinelEvents } from './sentinel.ts'
import { taskEvents } from './task.ts'
import { tokenEvents } from './token.ts'
import { validationEvents } from './validation.ts'
import { workItemEvents } from './work-item.ts'

const definitions = {
  ...greetingEvents,
  ...remediationEvents,
  ...releaseEvents,
  ...projectEvents,
  ...taskEvents,
  ...campaignEvents,
  ...workItemEvents,
  ...pacingEvents,
  ...gateEvents,
  ...validationEvents,
  ...maintenanceEvents,
  ...dependencyEvents,
  ...agentSessionEvents,
  ...initiativeEvents,
  ...findingEvents,
  ...runnerEvents,
  ...runRequestEvents,
  ...engineRunEvents,
  ...intentEvents,
  ...formationBriefEvents,
  ...tokenEvents,
  ...sentinelEvents,
}

/** Every type that has a payload schema. Engines may also state types that are unknown here. */
export type EventType = keyof typeof definitions

/** The payload of a known type. */
export type PayloadOf<T extends EventType> = Static<(typeof definitions)[T]['payload']>

/** Every known type, by its name. */
export const catalogue: ReadonlyMap<string, EventDefinition> = new Map(Object.entries(definitions))

/** The names, in the order of SPEC section 6, followed by the service's own. */
export const eventTypes = Object.keys(definitions) as readonly EventType[]

/** Prefixes of types that only the service states: even an unknown one is not accepted from outside. */
const SERVICE_FAMILIES = [
  'work_item_',
  'pacing_',
  'finding_',
  'run_request_',
  'runner_',
  'token_',
  'engine_run_',
  'intent_record_',
  'hypothesis_',
  'formation_brief_',
  'prompt_pack_',
  'sentinel_',
]
/** Prefixes of types that only the service states, except for their requests. */
const SERVICE_FAMILIES_BUT_REQUESTS = ['campaign_', 'initiative_']

const checks = new Map<string, Check>(Array.from(catalogue, ([type, { payload }]) => [type, compile(payload)] as const))
const NO_FAULTS: readonly Fault[] = []

/** Whether only the service may state this type: refused everywhere except at import (403 `service_owned_type`). */
export function isServiceOwned(type: string): boolean {
  const known = catalogue.get(type)
  if (known !== undefined) return known.owner === 'service'
  if (SERVICE_FAMILIES.some((family) => type.startsWith(family))) return true
  return !isRequest(type) && SERVICE_FAMILIES_BUT_REQUESTS.some((family) => type.startsWith(family))
}

/**
 * Whether an event of this type, when emitted, becomes a run request with it as the entry event. Known types declare
 * it; of unknown ones, every `*_requested` that may be stated from outside does.
 */
export function isCommand(type: string): boolean {
  const known = catalogue.get(type)
  return known !== undefined ? known.command : isRequest(type) && !isServiceOwned(type)
}

/** Whether an event of this type starts a span of its own below the one in which it was stated. */
export function opensSpan(type: string): boolean {
  return catalogue.get(type)?.opensSpan ?? false
}

/**
 * Every fault of a payload, with pointers relative to the payload. None for a valid payload or an unknown type: those
 * may carry anything.
 */
export function validatePayload(type: string, payload: unknown): readonly Fault[] {
  return checks.get(type)?.(payload) ?? NO_FAULTS
}

function isRequest(type: string): boolean {
  return type.endsWith('_requested')
}
