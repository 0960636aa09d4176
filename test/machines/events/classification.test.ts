/** Each type is classified once: who may state it, whether it is a command, whether it opens a span. */
import t from 'tap'
import {
  catalogue,
  type EventType,
  eventTypes,
  isCommand,
  isServiceOwned,
  opensSpan,
  type PayloadOf,
  validatePayload,
} from '../../../machines/events/index.ts'

const names = (text: string) => text.trim().split(/\s+/)

/** What only the service states, of SPEC section 6 and of its own documents. */
const serviceOwned = names(`
  work_item_submitted work_item_started work_item_settled work_item_cancelled work_item_held work_item_released
  pacing_paused pacing_resumed pacing_label_limited pacing_label_unlimited pacing_project_weighed
  campaign_advance_completed campaign_paused campaign_escalated campaign_completed campaign_cancelled
  campaign_added campaign_owner_paused campaign_resumed campaign_decided
  initiative_steered initiative_action_requested initiative_owner_action_recorded initiative_added initiative_decided initiative_completed initiative_cancelled
  finding_recorded finding_consumed
  project_created project_updated
  runner_registered runner_updated runner_removed runner_online runner_offline runner_limited runner_limit_ended
  run_request_created run_request_approved run_request_offered run_request_accepted run_request_started
  run_request_completed run_request_failed run_request_cancel_requested run_request_cancelled run_request_lost
  run_request_requeued run_request_released
  engine_run_opened trace_summary_recorded trace_ingested evidence_observed engine_capabilities_recorded engine_capabilities_removed
  intent_record_created intent_record_updated intent_record_accepted intent_record_activated intent_record_deprecated
  intent_record_contradicted intent_record_superseded intent_record_related intent_record_unrelated
  intent_record_drift_changed hypothesis_opened hypothesis_accepted hypothesis_rejected hypothesis_seen_again
  hypothesis_relinked discovery_recorded drift_classified
  formation_brief_created formation_brief_updated formation_brief_submitted formation_brief_approved
  formation_brief_compiled formation_brief_run_changed formation_brief_archived
  prompt_pack_compiled prompt_pack_edited
  token_created token_revoked
  sentinel_added sentinel_updated sentinel_removed sentinel_fired sentinel_skipped
`)

/** Commands for a runner: when emitted, they become a run request. */
const commands = names(`
  greet_requested scan_requested release_requested iteration_requested maintenance_requested execution_requested
  retry_requested validation_requested dependency_review_requested
`)

/** Requests that go to the actor they name. */
const addressed = names('campaign_advance_requested initiative_advance_requested')
/** Requests of the service to itself. */
const own = names('initiative_action_requested run_request_cancel_requested')

const spanOpeners = names(`
  greet_requested scan_requested release_requested iteration_requested maintenance_requested execution_requested
  validation_requested dependency_review_requested campaign_advance_requested initiative_advance_requested
  maintenance_run_started task_run_started remediation_started
`)

t.test('the service owns the types that only it can know, and none that an engine reports', async (t) => {
  t.strictSame(eventTypes.filter(isServiceOwned).sort(), [...serviceOwned].sort())
})

t.test('a request is a command for a runner, is addressed to its actor, or is a document of the service', async (t) => {
  t.strictSame(eventTypes.filter(isCommand).sort(), [...commands].sort())
  const requests = eventTypes.filter((type) => type.endsWith('_requested'))
  t.strictSame([...requests].sort(), [...commands, ...addressed, ...own].sort())
})

t.test('roots, and the starts of long work, open a span; facts and completions do not', async (t) => {
  t.strictSame(eventTypes.filter(opensSpan).sort(), [...spanOpeners].sort())
})

t.test('an unknown type belongs to the service when its family does', async (t) => {
  for (const type of [
    'work_item_foo',
    'pacing_foo',
    'finding_foo',
    'run_request_foo',
    'run_request_foo_requested',
    'runner_foo',
    'token_foo',
    'campaign_foo',
    'initiative_foo',
    'engine_run_foo',
    'intent_record_foo',
    'hypothesis_foo',
    'formation_brief_foo',
    'prompt_pack_foo',
  ]) {
    t.ok(isServiceOwned(type), type)
    t.notOk(isCommand(type), `${type} is no command`)
  }
  for (const type of [
    'campaign_foo_requested',
    'initiative_foo_requested',
    'project_foo',
    'drift_assessment_completed',
    'anything',
  ]) {
    t.notOk(isServiceOwned(type), type)
  }
})

t.test('an unknown type is accepted with any payload, and is a command if it is a request', async (t) => {
  t.strictSame(validatePayload('something_new', { any: [1, { thing: null }] }), [])
  t.strictSame(validatePayload('__proto__', 7), [])
  t.ok(isCommand('drift_assessment_requested'))
  t.notOk(isCommand('drift_assessment_completed'))
  t.notOk(opensSpan('drift_assessment_requested'))
})

t.test('each type has a name, a section, a meaning and a payload that compiles', async (t) => {
  for (const [type, { section, meaning, payload }] of catalogue) {
    t.match(type, /^[a-z][a-z0-9_]*$/)
    t.match(section, /^(own|6\.\d+)$/, type)
    t.ok(meaning.length > 8 && !meaning.includes('\n'), type)
    t.doesNotThrow(() => validatePayload(type, {}), type)
    t.same(JSON.parse(JSON.stringify(payload)), payload, `${type}: the schema is plain JSON`)
  }
})

t.test('payload types in TypeScript match their schemas', async (t) => {
  const known: EventType = 'release_pipeline_completed'
  const payload: PayloadOf<'release_pipeline_completed'> = { status: 'failure' }
  t.strictSame(validatePayload(known, payload), [])
  // @ts-expect-error a value that SPEC does not list
  const wrong: PayloadOf<'release_pipeline_completed'> = { status: 'cancelled' }
  t.strictSame(validatePayload(known, wrong), [
    { pointer: '/status', detail: 'must be one of success, failure; got "cancelled"' },
  ])
})
