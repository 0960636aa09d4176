/** Dependency update policy (SPEC 6.14): what is outdated, what maintenance may apply, and what becomes of majors. */
import {
  anyObject,
  count,
  nullable,
  onlyWith,
  openObject,
  requiredWith,
  rule,
  stringEnum,
  type TSchema,
  Type,
} from '../schema.ts'
import { engineEvent } from './event-type.ts'
import { forwardedActions, gateDefinitions } from './gates.ts'

const text = Type.String()
/** For members that SPEC 6.14 names without a type: omitted or null if there is nothing to say. */
const open = <S extends TSchema>(schema: S) => Type.Optional(nullable(schema))
const openText = open(text)
const policy = stringEnum(['patch', 'minor', 'major'])

const hold = openObject({ max: text, reason: text, expires: openText, newest_within: openText })
const advisory = openObject({ id: text, fix_version: openText, severity: openText })

const outdated = openObject({
  ecosystem: text,
  manifest: text,
  package: text,
  current: text,
  requirement: openText,
  in_range: openText,
  non_major: openText,
  major: openText,
  hold: open(hold),
  advisories: Type.Array(advisory),
})

const classification = openObject({
  outdated: Type.Array(outdated),
  classified: Type.Array(Type.String({ description: 'ecosystem and location' })),
  unclassified: Type.Array(openObject({ scope: text, reason: text })),
  lapsed_holds: Type.Array(openObject({ package: text, max: text, reason: text, expired_on: text })),
  holds_warning: openText,
  transitive_advisories: Type.Array(openObject({ ecosystem: text, package: text, version: openText, advisory: text })),
  advisory_source: openText,
})

const target = { ecosystem: text, manifest: text, package: text, from: text, to: text, class: policy }
const applied = openObject({
  ...target,
  change: stringEnum(['lockfile', 'manifest']),
  security: open(Type.Boolean()),
  beyond_policy: Type.Boolean(),
  beyond_hold: Type.Boolean(),
})
const heldBack = openObject({ ...target, reason: text })

const brief = openObject({
  policy,
  policy_set: Type.Boolean(),
  apply: Type.Array(applied),
  held_by_policy: Type.Array(heldBack),
  held_by_hold: Type.Array(heldBack),
  majors: Type.Array(applied),
})

const classified = openObject(
  {
    project: Type.String({ description: 'registered project name' }),
    phase: stringEnum(['before', 'after', 'review']),
    workflow: Type.Optional(stringEnum(['maintain'])),
    success: Type.Optional(Type.Boolean({ description: 'whether maintenance succeeded' })),
    classification,
    brief,
    gates: Type.Optional(gateDefinitions),
    actions: Type.Optional(forwardedActions),
  },
  {
    rules: [
      onlyWith('phase', ['before', 'after'], 'workflow'),
      onlyWith('phase', ['after'], 'success'),
      requiredWith('phase', ['before'], 'gates'),
    ],
  },
)

const upgrade = openObject({
  project: text,
  ecosystem: text,
  manifest: text,
  package: text,
  from: text,
  to: text,
  security: Type.Boolean(),
  objective: text,
  command: text,
  status: stringEnum(['dispatch', 'deduped', 'overflow', 'deferred', 'proposed']),
  reason: text,
})

const planned = openObject(
  {
    upgrades: Type.Array(upgrade, { description: 'one entry per major' }),
    per_project_cap: count('the per-project cap in force'),
    per_night_cap: count('the per-night cap in force'),
    dispatch_enabled: Type.Boolean({ description: 'true only for the nightly run at full throttle' }),
    review: Type.Boolean({ description: 'true for an on-demand review' }),
    history_warning: Type.Optional(Type.String({ description: 'earlier tasks could not be read for dedupe' })),
    project_trace_ids: open(anyObject('trace of each project of the nightly run')),
    skipped_projects: open(Type.Array(text)),
    total_duration_ms: open(count()),
    root_event_id: openText,
  },
  {
    rules: [
      rule('review', [true], {
        dispatch_enabled: { const: false, description: 'a review dispatches nothing' },
      }),
    ],
  },
)

export const dependencyEvents = {
  dependency_review_requested: engineEvent(
    '6.14',
    "command: classify one project's dependency updates and plan its majors, applying nothing",
    openObject({ policy: Type.Optional(stringEnum(['major'], { description: 'previews another policy' })) }),
    { opensSpan: true, command: true },
  ),
  dependency_updates_classified: engineEvent(
    '6.14',
    'direct dependencies classified and the maintain brief decided',
    classified,
  ),
  major_upgrades_planned: engineEvent('6.14', 'the majors lane decided each major upgrade', planned),
}
