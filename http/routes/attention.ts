/**
 * What needs a person: lost and unapproved run requests; work that no runner may take, or whose runners are all away;
 * open work items, and staged ones; campaigns that escalated, or that their provider paused for good; questions of
 * initiatives; sentinels whose items fail, or that submit none; briefs to review, or whose approvals no longer hold;
 * drift; hypotheses; the service's own certificate, if it expires soon.
 */
import type { CampaignContext } from '../../machines/campaign/context.ts'
import { calledFor, needIn } from '../../machines/campaign/needs.ts'
import { campaignDocument } from '../../machines/documents/campaign.ts'
import { certificateDocument } from '../../machines/documents/certificate.ts'
import { driftDocument } from '../../machines/documents/drift.ts'
import { type BriefLapse, formationBriefDocument } from '../../machines/documents/formation-brief.ts'
import { hypothesisDocument } from '../../machines/documents/hypothesis.ts'
import { initiativeDocument } from '../../machines/documents/initiative.ts'
import { projectDocument } from '../../machines/documents/project.ts'
import { runRequestDocument } from '../../machines/documents/run-request.ts'
import { type Failing, sentinelDocument } from '../../machines/documents/sentinel.ts'
import { waitingBecause } from '../../machines/documents/waiting-because.ts'
import { workItemDocument } from '../../machines/documents/work-item.ts'
import { attentionSince, driftOf } from '../../machines/drift/document.ts'
import type { FormationBriefContext } from '../../machines/formation-brief/context.ts'
import type { HypothesisContext } from '../../machines/hypothesis/context.ts'
import { modules } from '../../machines/index.ts'
import type { InitiativeContext } from '../../machines/initiative/context.ts'
import { attentionSince as askedSince } from '../../machines/initiative/view.ts'
import type { RunRequestContext } from '../../machines/run-request/context.ts'
import { stringEnum, type TSchema, Type } from '../../machines/schema.ts'
import type { SentinelContext } from '../../machines/sentinel/context.ts'
import type { WorkItemContext } from '../../machines/work-item/context.ts'
import type { Principal } from '../../runtime/access/principals.ts'
import type { SnapshotOf } from '../../runtime/api.ts'
import { requirementsOf } from '../../runtime/dispatch/eligibility.ts'
import { lapseOfBrief } from '../../runtime/entities/brief-runs.ts'
import { failureOf } from '../../runtime/entities/failing-sentinels.ts'
import { maySee } from '../access.ts'
import { utcNow } from '../clock.ts'
import { isAmong, listAnswer, listQuery, namedProject, projectFilter, stateFilter } from '../lists.ts'
import type { Moment, Reason } from '../resources/attention-reason.ts'
import { campaignDocumentOf } from '../resources/campaign-answers.ts'
import { CERTIFICATE_ADVICE, CERTIFICATE_REASON, withCertificate } from '../resources/expiring-certificate.ts'
import { briefDocument } from '../resources/formation-briefs.ts'
import { governedBy, governingBrief } from '../resources/governing-brief.ts'
import { maySeeInitiative, redactAssessment } from '../resources/initiative-visibility.ts'
import { runRequestDocumentOf } from '../resources/run-request-answers.ts'
import { sentinelDocumentOf } from '../resources/sentinel-answers.ts'
import { stalledProjects } from '../resources/stalled-projects.ts'
import { isCoveredByResumption, isFailureCovered, workItemDocumentOf } from '../resources/work-item-answers.ts'
import type { Route, ServiceContext } from '../route.ts'
import { answerSections, type Section } from '../sections.ts'
import type { Exchange } from '../wire/exchange.ts'

const runRequest = {
  kind: 'run_request',
  governor: governingBrief,
  document: (service: ServiceContext, snapshot: SnapshotOf<any>, reader: Principal) =>
    redactAssessment(service, reader, runRequestDocumentOf(service, snapshot)),
} as const
const openItem = {
  kind: 'work_item',
  isCoveredElsewhere: isCoveredByResumption,
  since: ({ context }: SnapshotOf<WorkItemContext>) => context.settled_at!,
  document: (service: ServiceContext, snapshot: SnapshotOf<any>, reader: Principal) =>
    workItemDocumentOf(service, reader, snapshot),
} as const

const campaign = {
  kind: 'campaign',
  since: ({ context }: SnapshotOf<CampaignContext>) => context.since,
  document: (service: ServiceContext, snapshot: SnapshotOf<any>, reader: Principal) =>
    campaignDocumentOf(service, reader, snapshot),
} as const

const initiative = {
  kind: 'initiative',
  isFor: (reader: Principal, { context }: SnapshotOf<InitiativeContext>) => maySeeInitiative(reader, context),
  projects: ({ context }: SnapshotOf<InitiativeContext>) => context.projects,
  since: ({ context }: SnapshotOf<InitiativeContext>) => askedSince(context),
  document: (_: ServiceContext, snapshot: SnapshotOf<any>) => modules.initiative.document(snapshot),
} as const

const sentinel = {
  kind: 'sentinel',
  document: (service: ServiceContext, snapshot: SnapshotOf<any>, _: Principal, moment?: Moment) =>
    sentinelDocumentOf(service, snapshot, moment as Failing | undefined),
} as const

const noRunner = {
  reason: 'no_runner',
  advice: 'register a runner, or let one take it, as `because` says; or cancel it (the only way with `runner_removed`)',
} as const

/** Most urgent first. */
const REASONS = {
  lost: {
    ...runRequest,
    advice: 'requeue or fail it',
    since: ({ context }: SnapshotOf<RunRequestContext>) => context.times.lost_at!,
  },
  escalated: {
    ...campaign,
    advice: 'decide, resume, complete or cancel it; if it is paused, resume it before deciding',
  },
  paused: {
    ...campaign,
    advice: 'its provider is unavailable and did not say until when: resume or cancel it',
    isOf: (snapshot: SnapshotOf<CampaignContext>) => calledFor(needIn(snapshot)) === 'paused',
  },
  needs_decision: {
    ...openItem,
    advice: 'decide: submit what should be done now, and close it; one that never started may be released',
  },
  preserved: {
    ...openItem,
    advice: 'resume or close it; if it is `built_upon_by` a campaign, continue with the campaign, or close it',
  },
  failed: {
    ...openItem,
    advice:
      'close it, and submit it again if it is still wanted; if it is `built_upon_by` a campaign, continue with the campaign: closing it ends that',
    isCoveredElsewhere: isFailureCovered,
  },
  asked: { ...initiative, advice: 'answer its question, for the members that it asks about' },
  staged: {
    ...openItem,
    advice: 'release it to let it start, or cancel it',
    since: ({ context }: SnapshotOf<WorkItemContext>) => context.operator_actions.at(-1)!.at,
  },
  close_proposed: { ...initiative, advice: 'complete it, or decide what is missing' },
  no_runner_online: {
    kind: 'project',
    called: 'stalled_project',
    advice:
      'its work waits only for a runner, and those that may take it have not called for minutes, or are `limited` for an hour already or for want of an agent: see to those named in `because`, or register another',
    projects: ({ context }: SnapshotOf<any>) => [context.key],
    since: (_: SnapshotOf<any>, moment?: Moment) => moment!.since,
    find: ({ scheduler }: ServiceContext, sees: (project: string) => boolean) => stalledProjects(scheduler, sees),
    document: (_: ServiceContext, snapshot: SnapshotOf<any>) => modules.project.document(snapshot),
  },
  no_runner: {
    ...runRequest,
    ...noRunner,
    since: ({ context }: SnapshotOf<RunRequestContext>) => context.created_at,
    find: ({ dispatcher }: ServiceContext, sees: (project: string) => boolean) => ({
      rows: dispatcher.waiting.stranded(sees),
    }),
    because: ({ dispatcher }: ServiceContext, { context }: SnapshotOf<RunRequestContext>, reader: Principal) =>
      dispatcher.waiting.strandedBecause(requirementsOf(context), reader.projects),
  },
  no_runner_item: {
    ...openItem,
    ...noRunner,
    since: ({ context }: SnapshotOf<WorkItemContext>) => context.submitted_at,
    find: ({ scheduler }: ServiceContext, sees: (project: string) => boolean) => ({
      rows: scheduler.waiting.stranded(sees),
    }),
    because: ({ scheduler }: ServiceContext, { context }: SnapshotOf<WorkItemContext>, reader: Principal) =>
      scheduler.waiting.strandedBecause(context.id, reader.projects),
  },
  failing: {
    ...sentinel,
    advice:
      'its last three items, which `failing` names, have failed, or wait for a decision or to be resumed: see to these, and change what it submits, or pause it',
    moment: ({ runtime }: ServiceContext, snapshot: SnapshotOf<any>) => failureOf(runtime, snapshot),
    since: (_: SnapshotOf<any>, moment?: Moment) => moment!.since,
  },
  unscheduled: {
    ...sentinel,
    advice:
      'it falls due no more, since the Node.js of the service does not know its time zone: give it another zone, or run the service on a Node.js that knows it; then it goes on by itself',
    since: ({ context }: SnapshotOf<SentinelContext>) => context.last?.at ?? context.created_at,
  },
  skipping: {
    ...sentinel,
    advice:
      'it has submitted nothing the last three times that it fell due, and for an hour: as its `last` says, see to the item that this names, or keep the service running at these times; or have it fall due at other times, or pause it',
    isTimed: true,
    since: ({ context }: SnapshotOf<SentinelContext>) => context.skipping!.since,
  },
  unapproved: {
    ...runRequest,
    advice: 'approve or cancel it',
    since: ({ context }: SnapshotOf<RunRequestContext>) => context.created_at,
  },
  reviewable: {
    kind: 'formation_brief',
    advice: 'review it, and approve it or archive it',
    since: ({ context }: SnapshotOf<FormationBriefContext>) => context.submitted_at!,
    document: (_: ServiceContext, snapshot: SnapshotOf<any>) => modules.formation_brief.document(snapshot),
  },
  lapsed: {
    kind: 'formation_brief',
    advice: 'its approvals no longer hold, as `lapsed` explains: approve it again, or archive it and write another',
    moment: ({ runtime }: ServiceContext, snapshot: SnapshotOf<any>) => lapseOfBrief(runtime, snapshot),
    since: (_: SnapshotOf<any>, moment?: Moment) => moment!.since,
    document: (_: ServiceContext, snapshot: SnapshotOf<any>, __: Principal, moment?: Moment) =>
      briefDocument(snapshot, moment as BriefLapse),
  },
  drift: {
    kind: 'intent_record',
    called: 'drift',
    advice: 'say whether it is real, an allowed exception or an obsolete intent',
    isTimed: true,
    since: (snapshot: SnapshotOf<any>) => attentionSince(snapshot)!,
    document: (service: ServiceContext, snapshot: SnapshotOf<any>) => driftOf(snapshot, utcNow(service)),
  },
  hypothesis: {
    kind: 'hypothesis',
    advice: 'accept or reject it',
    since: ({ context }: SnapshotOf<HypothesisContext>) => context.created_at,
    document: (_: ServiceContext, snapshot: SnapshotOf<any>) => modules.hypothesis.document(snapshot),
  },
} as const satisfies Record<string, Reason>

type SectionName = keyof typeof REASONS
const SECTIONS = Object.keys(REASONS) as readonly SectionName[]
const NAMES = [...new Set(SECTIONS.map(reasonOf)), CERTIFICATE_REASON]

/** The document schema of each kind, by its name. */
const DOCUMENTS: Readonly<Record<string, TSchema>> = {
  run_request: runRequestDocument,
  work_item: workItemDocument,
  stalled_project: projectDocument,
  initiative: initiativeDocument,
  campaign: campaignDocument,
  sentinel: sentinelDocument,
  drift: driftDocument,
  hypothesis: hypothesisDocument,
  formation_brief: formationBriefDocument,
}

/** Reasons for which an item of this kind is listed. */
function reasonsFor(kind: string): readonly string[] {
  const names = SECTIONS.filter((name) => calledOf(REASONS[name]) === kind)
  return [...new Set(names.map(reasonOf))]
}

function calledOf({ kind, called = kind }: Reason): string {
  return called
}

/** What all calls of a kind have; `advice`: what to do, by reason. */
function callOf(kind: string, advice: Readonly<Record<string, string>>): Record<string, TSchema> {
  const said = Object.entries(advice).map(([reason, text]) => `\`${reason}\`: ${text}`)
  return {
    kind: Type.Literal(kind),
    reason: stringEnum(Object.keys(advice), { description: `Why: ${said.join('; ')}.` }),
    project: Type.String({ description: 'Key of the project; of an initiative, its first; `system` for the service.' }),
    since: Type.String({ format: 'date-time', description: 'Since when it needs attention.' }),
  }
}

/** One schema for each kind, so that `kind` determines which document the item holds. */
const attentionItem = Type.Unsafe({
  title: 'AttentionItem',
  description: 'What needs a person; its document is under the name of its kind.',
  oneOf: [
    ...Object.entries(DOCUMENTS).map(([kind, schema]) => {
      const reasons = reasonsFor(kind)
      return Type.Object({
        ...callOf(kind, Object.fromEntries(reasons.map((name) => [name, REASONS[name as SectionName].advice]))),
        // Why no registered runner, or none that is online, may take it.
        ...(reasons.some((reason) => reason.startsWith('no_runner')) ? { because: Type.Optional(waitingBecause) } : {}),
        ...(kind === 'run_request' ? { governed_by: Type.Optional(governedBy) } : {}),
        [kind]: schema,
      })
    }),
    Type.Object({
      ...callOf('certificate', { [CERTIFICATE_REASON]: CERTIFICATE_ADVICE }),
      certificate: certificateDocument,
    }),
  ],
})

export function attentionRoutes(service: ServiceContext): readonly Route[] {
  return [
    {
      method: 'GET',
      path: '/api/attention',
      operation: 'listAttention',
      area: 'attention',
      summary: 'List what needs a person, most pressing first.',
      access: { right: 'view' },
      query: listQuery({
        project: projectFilter,
        reason: stateFilter(NAMES, 'Only what needs a person for one of these reasons.'),
      }),
      answers: {
        200: listAnswer(
          attentionItem,
          'What needs a person’s attention.',
          'Most pressing first; within one reason, newest first, but projects by key.',
        ),
      },
      problems: ['not_found'],
      handle: (exchange) => {
        const asked = exchange.query.reason as readonly string[] | undefined
        const named = namedProject(service, exchange, exchange.query.project)
        if (named === undefined) return
        const names = SECTIONS.filter((name) => isAmong(asked, reasonOf(name)))
        answerSections(service, exchange, (at) => {
          const sections = names.map((name) => sectionOf(service, exchange, { name, at, of: named.key }))
          const isOwn = named.key === undefined && isAmong(asked, CERTIFICATE_REASON)
          return isOwn ? withCertificate(service, exchange.principal, at, sections) : sections
        })
      },
    },
  ]
}

function reasonOf(name: SectionName): string {
  const reason: Reason = REASONS[name]
  return reason.reason ?? name
}

/** `of` is the key of the project asked for; undefined: all projects. */
function sectionOf(
  service: ServiceContext,
  { principal }: Exchange,
  { name, at, of }: { readonly name: SectionName; readonly at: string; readonly of: string | undefined },
): Section {
  const reason: Reason = REASONS[name]
  const { kind, isOf } = reason
  const isAsked = (project: string): boolean => of === undefined || project === of
  const found = reason.find?.(service, (project) => isAsked(project) && maySee(principal, project))
  /** Filled by `isSo` for the rows that are listed. */
  const moments = new Map<SnapshotOf<any>, Moment>()
  const document = (snapshot: SnapshotOf<any>) =>
    itemOf(service, principal, name, { snapshot, moment: found?.moment?.(snapshot) ?? moments.get(snapshot) })
  const named = { name, kind, document }
  if (found !== undefined) return { ...named, find: found.rows }
  const isSo = (snapshot: SnapshotOf<any>): boolean => {
    if (reason.moment === undefined) return true
    const moment = reason.moment(service, snapshot)
    if (moment !== undefined) moments.set(snapshot, moment)
    return moment !== undefined
  }
  const isFor = (snapshot: SnapshotOf<any>): boolean =>
    projectsOf(reason, snapshot).some(isAsked) &&
    (reason.isFor?.(principal, snapshot) ?? maySee(principal, snapshot.context.project)) &&
    reason.isCoveredElsewhere?.(service, snapshot) !== true &&
    isSo(snapshot)
  return {
    ...named,
    index: isOf === undefined ? 'attention' : 'state',
    value: name,
    ...(reason.isTimed === true ? { below: at } : {}),
    matches: isOf === undefined ? isFor : (snapshot) => isOf(snapshot) && isFor(snapshot),
  }
}

function projectsOf(reason: Reason, snapshot: SnapshotOf<any>): readonly string[] {
  return reason.projects?.(snapshot) ?? [snapshot.context.project]
}

interface Row {
  readonly snapshot: SnapshotOf<any>
  readonly moment: Moment | undefined
}

function itemOf(service: ServiceContext, reader: Principal, name: SectionName, { snapshot, moment }: Row): object {
  const reason: Reason = REASONS[name]
  const called = calledOf(reason)
  const because = moment?.because ?? reason.because?.(service, snapshot, reader)
  const governor = reason.governor?.(service, snapshot)
  return {
    kind: called,
    reason: reasonOf(name),
    project: projectsOf(reason, snapshot)[0],
    since: reason.since(snapshot, moment),
    ...(because === undefined ? {} : { because }),
    ...(governor === undefined ? {} : { governed_by: governor }),
    [called]: reason.document(service, snapshot, reader, moment),
  }
}
