/** The moves of a formation brief: submit for review, approve, compile, change prompts, archive. */
import {
  compiledBriefDocument,
  PROMPT_PHASES,
  type PromptEdit,
  promptEditBody,
} from '../../machines/documents/compiled-brief.ts'
import {
  type FormationBriefApprove,
  type FormationBriefCompile,
  formationBriefApproveBody,
  formationBriefArchiveBody,
  formationBriefCompileBody,
} from '../../machines/documents/formation-brief.ts'
import { closedObject, Type } from '../../machines/schema.ts'
import { sourcesOf } from '../../runtime/entities/brief-sources.ts'
import { mayDo } from '../access.ts'
import { IF_MATCH_HEADER, readVersion } from '../preconditions.ts'
import { notFound } from '../replies.ts'
import {
  answerCompiled,
  type BriefSnapshot,
  oneBrief,
  tellBrief,
  visibleBrief,
  withCompiled,
  withReadableBrief,
} from '../resources/formation-briefs.ts'
import type { Route, ServiceContext } from '../route.ts'
import type { Exchange } from '../wire/exchange.ts'

const AREA = 'formation briefs'
const frozen = { description: 'The compiled brief.', schema: compiledBriefDocument }

export function briefMoveRoutes(service: ServiceContext): readonly Route[] {
  return [
    submitRoute(service),
    approveRoute(service),
    ...['/formation-briefs/:id', '/api/formation-briefs/:id'].map((path) => compileRoute(service, path)),
    compiledRoute(service),
    promptRoute(service),
    archiveRoute(service),
  ]
}

function submitRoute(service: ServiceContext): Route {
  return {
    method: 'POST',
    path: '/api/formation-briefs/:id/submit',
    operation: 'submitFormationBrief',
    area: AREA,
    summary: 'Submit a draft for review.',
    description: 'With `If-Match`, only if it is unchanged since it was read.',
    access: { right: 'intent.write' },
    headers: [IF_MATCH_HEADER],
    answers: { 200: oneBrief },
    problems: ['not_found', 'illegal_move', 'precondition_failed'],
    handle: (exchange) => {
      const read = readVersion(exchange)
      const brief = read === undefined ? undefined : visibleBrief(service, exchange)
      if (brief !== undefined) tellBrief(service, exchange, brief, { type: 'submit', ...read })
    },
  }
}

function approveRoute(service: ServiceContext): Route {
  return {
    method: 'POST',
    path: '/api/formation-briefs/:id/approve',
    operation: 'approveFormationBrief',
    area: AREA,
    summary: 'Approve a brief for one throttle, with its current content and the current intent behind it.',
    description:
      'If the brief is not compiled yet, the approval names the digest that it will have. Throttle `dry_run` needs the ' +
      'right `approve.dry_run`, `full` needs `approve.full`. Each waiting run with throttle `full` that this covers may start. ' +
      'With `If-Match`, it is approved only if unchanged since it was read. A brief that cannot be compiled is not approved, since ' +
      'nobody could change it afterwards.',
    access: { right: 'approve.dry_run', orRight: 'approve.full' },
    body: { schema: formationBriefApproveBody },
    headers: [IF_MATCH_HEADER],
    answers: { 200: oneBrief },
    problems: ['not_found', 'illegal_move', 'precondition_failed', 'brief_incomplete'],
    handle: (exchange) => approve(service, exchange),
  }
}

function approve(service: ServiceContext, exchange: Exchange): void {
  const { throttle, revision } = exchange.body as FormationBriefApprove
  const right = throttle === 'full' ? 'approve.full' : 'approve.dry_run'
  if (!mayDo(exchange.principal, right)) {
    exchange.problem('forbidden', `Approval for throttle ${throttle} needs the right ${right}.`)
    return
  }
  const read = readVersion(exchange)
  const brief = read === undefined ? undefined : visibleBrief(service, exchange)
  if (brief === undefined) return
  const pinned = revision === undefined ? {} : { revision }
  tellBrief(service, exchange, brief, { type: 'approve', throttle, ...pinned, ...read, ...sources(service, brief) })
}

function sources({ runtime }: ServiceContext, { context }: BriefSnapshot): { readonly sources: object } {
  return { sources: sourcesOf(runtime, context) }
}

function compileRoute(service: ServiceContext, path: string): Route {
  return {
    method: 'POST',
    path: `${path}/compile-prompts`,
    operation: 'compileFormationBrief',
    area: AREA,
    summary: 'Compile an approved brief: freeze it with the intent behind it, and generate its prompts.',
    description:
      'From then on its digest identifies exactly this content. What is frozen must be what was approved: if the intent or the revision ' +
      'has changed since, approve it again. An already compiled brief is returned unchanged.',
    access: { right: 'brief.compile' },
    body: { schema: formationBriefCompileBody, optional: true },
    answers: { 200: frozen },
    problems: ['not_found', 'illegal_move', 'brief_incomplete', 'engine_incapable', 'reapproval_required'],
    handle: (exchange) => compile(service, exchange),
  }
}

function compile(service: ServiceContext, exchange: Exchange): void {
  const brief = visibleBrief(service, exchange)
  if (brief === undefined) return
  const { project, sections } = brief.context
  const { revision } = exchange.body as FormationBriefCompile
  const { entry_event: entryEvent, throttle = sections.throttle } = sections.engine_controls ?? {}
  const incapable = service.capabilities.incapable({ project, entryEvent, throttle })
  const message = {
    type: 'compile',
    ...(revision === undefined ? {} : { revision }),
    ...(incapable === undefined ? {} : { incapable }),
    ...sources(service, brief),
  }
  tellBrief(service, exchange, brief, message, ({ snapshot, sequence }) =>
    answerCompiled(service, exchange, snapshot, { digest: snapshot.context.compiled.digest, sequence }),
  )
}

function compiledRoute(service: ServiceContext): Route {
  return {
    method: 'GET',
    path: '/api/formation-briefs/:id/compiled',
    operation: 'readCompiledFormationBrief',
    area: AREA,
    summary: 'Read a compiled brief: the frozen snapshot, and its prompts phase by phase.',
    access: { right: 'view', runner: 'holder' },
    query: closedObject({
      digest: Type.Optional(
        Type.String({
          pattern: '^sha256:[0-9a-f]{64}$',
          description: 'An earlier artifact of the brief. Default: the current one.',
        }),
      ),
    }),
    answers: { 200: frozen },
    problems: ['not_found'],
    handle: (exchange) =>
      withReadableBrief(service, exchange, (brief) => {
        const digest: string | undefined = exchange.query.digest ?? brief.context.compiled?.digest
        if (digest !== undefined) answerCompiled(service, exchange, brief, { digest })
        else exchange.problem('not_found', `The brief is ${brief.value} and not compiled yet.`)
      }),
  }
}

function promptRoute(service: ServiceContext): Route {
  return {
    method: 'PUT',
    path: '/api/formation-briefs/:id/prompts/:phase',
    operation: 'writeFormationBriefPrompt',
    area: AREA,
    summary: 'Replace a prompt: this makes another artifact, with another digest, which needs its own approval.',
    description:
      'The phase must be in the prompt pack, otherwise the answer is 404. ' +
      'Refused while a run of the brief waits or is under way. ' +
      'The version of the brief goes up. With `If-Match` (the ETag of the brief that was read) it is changed only if ' +
      'nobody else has changed it since.',
    access: { right: 'brief.compile' },
    body: { schema: promptEditBody },
    headers: [IF_MATCH_HEADER],
    answers: { 200: frozen },
    problems: ['not_found', 'illegal_move', 'precondition_failed', 'brief_incomplete'],
    handle: (exchange) => editPrompt(service, exchange),
  }
}

function editPrompt(service: ServiceContext, exchange: Exchange): void {
  const phase = exchange.params[1]!
  const read = readVersion(exchange)
  const brief = read === undefined ? undefined : visibleBrief(service, exchange)
  if (brief === undefined) return
  if (!(PROMPT_PHASES as readonly string[]).includes(phase)) {
    notFound(exchange, 'phase', `${phase}; the phases are ${PROMPT_PHASES.join(', ')}`)
    return
  }
  const message = { type: 'edit_prompt', phase, ...read, ...(exchange.body as PromptEdit) }
  const { compiled } = brief.context
  if (compiled === undefined) {
    tellBrief(service, exchange, brief, message)
    return
  }
  withCompiled(service, exchange, brief, compiled.digest, (known) => {
    const { digest, snapshot, prompt_pack } = known.context
    tellBrief(service, exchange, brief, { ...message, artifact: { digest, snapshot, prompt_pack } }, (taken) =>
      answerCompiled(service, exchange, brief, {
        digest: taken.snapshot.context.compiled.digest,
        sequence: taken.sequence,
      }),
    )
  })
}

function archiveRoute(service: ServiceContext): Route {
  return {
    method: 'POST',
    path: '/api/formation-briefs/:id/archive',
    operation: 'archiveFormationBrief',
    area: AREA,
    summary: 'Archive a brief: it is kept for audit only.',
    description:
      'Refused while a run of it has not ended (it waits, is under way, or was lost): cancel the run, or wait ' +
      'until it has ended.',
    access: { right: 'intent.write' },
    body: { schema: formationBriefArchiveBody, optional: true },
    answers: { 200: oneBrief },
    problems: ['not_found', 'illegal_move'],
    handle: (exchange) => {
      const brief = visibleBrief(service, exchange)
      if (brief !== undefined) tellBrief(service, exchange, brief, { type: 'archive', ...exchange.body })
    },
  }
}
