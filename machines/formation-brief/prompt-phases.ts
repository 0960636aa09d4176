/**
 * The prompt of each phase of a run: its own view of the frozen brief, never all of it. The wording is the service's;
 * what people wrote goes in lists under headings, and text that nobody vouches for is fenced.
 */

import type { PromptPhase } from '../documents/compiled-brief.ts'
import { bullets, document, paragraphs, section } from '../prompt-text.ts'
import { fenced } from '../untrusted-text.ts'
import { objectsOf, textOf, textsOf } from './open-members.ts'
import { named, protectedWith, recordTexts } from './prompt-records.ts'
import type { BriefCore } from './snapshot.ts'

/** Increases whenever the same brief would be worded differently. */
export const TEMPLATE_VERSION = '4'

type View = (core: BriefCore) => string

const QUOTES_A_RECORD_MAX = 5

export const PHASE_VIEWS: Readonly<Record<PromptPhase, View>> = {
  assessment: (core) =>
    document(
      '# Assessment',
      'Assess the code against the intent below. Do not change anything. Report only findings that affect a capability or a threat named here, and for each finding give the place in the code that shows it. Leave out general criticism, style and praise.',
      objective(core),
      capabilities(core),
      threats(core),
      scope(core, 'Where to look'),
      evidence(core, 'What counts as evidence'),
      drifted(core),
      quotes(core),
      questions(core),
    ),

  triage: (core) =>
    document(
      '# Triage',
      'Decide which findings of the assessment are worth acting on. Do not change anything. Accept a finding only if all of the following are true:',
      bullets([
        'it threatens a capability named below;',
        'it still holds after you have looked at the code again;',
        'a fix can produce evidence of a kind listed below;',
        'it is worth what the tradeoffs allow to be given up for it.',
      ]),
      'Reject every other finding, each with a reason of one line. If a finding shows that two records contradict each other, or that the code deliberately contradicts a record, do not take a side: report it as a contradiction.',
      capabilities(core),
      threats(core),
      tradeoffs(core),
      evidence(core, 'Evidence that a fix must be able to produce'),
      questions(core),
    ),

  planning: (core) =>
    document(
      '# Planning',
      'Plan the work. Do not change anything yet. Plan small steps, each of which can be reverted on its own. For each step name the intent record it serves, by id; the files it touches; the evidence it produces; and the gates it must pass. Leave out anything that no record asks for.',
      objective(core),
      done(core),
      records(core, 'Intent records that a step may serve', ['capability', 'expectation', 'strategy']),
      scope(core, 'Files in scope'),
      section('Preferred moves', bullets(core.strategies_to_prefer ?? []), recordTexts(core, 'strategy')),
      section('Suspicious moves', bullets([...(core.threats_to_watch ?? []), ...(core.forbidden_moves ?? [])])),
      evidence(core, 'Required evidence'),
      gates(core),
      drifted(core),
      quotes(core),
      section(
        'Stop the run when',
        bullets([
          ...(core.mission.stop_conditions ?? []),
          'a step depends on a point on which the intent is ambiguous',
        ]),
      ),
      questions(core),
    ),

  execution: (core) =>
    document(
      '# Execution',
      `Carry out the plan. Stay within the objective and the scope below. ${throttled(core)}`,
      objective(core),
      done(core),
      scope(core, 'Scope'),
      section('Boundaries to protect', protectedWith(core, 'capability')),
      section('Forbidden', bullets(core.forbidden_moves ?? [])),
      section(
        'Never weaken a check',
        bullets([
          'do not delete, skip or loosen a test, gate, check or assertion to make it pass',
          'do not remove evidence of other changes',
        ]),
      ),
      evidence(core, 'Evidence to produce'),
      gates(core),
      controls(core),
      section('Stop at once when', bullets(core.mission.stop_conditions ?? [])),
    ),

  retry: (core) =>
    document(
      '# Retry',
      'A gate failed after the execution. The failure context that comes with this prompt holds its output and what was tried. First say which gate failed and which evidence is missing. Then repair that and nothing else.',
      throttled(core),
      section(
        'Limits of this attempt',
        bullets([
          'do not widen the scope: touch no file that the plan did not name',
          'do not repeat unchanged what was tried before',
          'if the intent is wrong rather than the code, stop and say so; do not bend the code to fit it',
          'do not delete, skip or loosen a test, gate, check or assertion to make it pass',
        ]),
      ),
      objective(core),
      section('Boundaries to protect', protectedWith(core)),
      evidence(core, 'Evidence that is still required'),
      gates(core),
      section('Forbidden', bullets(core.forbidden_moves ?? [])),
      section('Stop at once when', bullets(core.mission.stop_conditions ?? [])),
    ),

  summarization: (core) =>
    document(
      '# Summary',
      'Summarize the run against the intent. Do not change anything. State only what the trace and the evidence show. If something was not examined, say that it is unknown.',
      section(
        'What to say about each',
        bullets([
          'capability: kept, harmed or unknown, with the evidence for it',
          'threat: seen (and where), not seen or unknown',
          'required evidence: produced or missing, by its id if it has one',
          'gate: passed, failed or not run',
          'record that the run contradicted: what contradicts it',
          'open question: what a person should answer',
        ]),
      ),
      capabilities(core),
      threats(core),
      evidence(core, 'Evidence that was required'),
      gates(core),
      done(core),
      questions(core),
    ),

  review: (core) =>
    document(
      '# Review',
      'Review the work as someone who did not do it and takes no claim on trust. Do not change anything. Look for harm to what is protected, for evidence that does not show what it claims, and for changes that no record asked for.',
      objective(core),
      done(core),
      section('What must still hold', protectedWith(core, 'expectation')),
      threats(core),
      section('What must not have been done', bullets(core.forbidden_moves ?? [])),
      evidence(core, 'Evidence that must exist'),
      gates(core),
    ),

  intent_feedback: (core) =>
    document(
      '# Feedback on the intent',
      'Report what the run showed about the intent itself. Do not change the code or any record: a person decides. List the following, each with the observation behind it: records that were contradicted, expectations that were not met, strategies that worked or failed, threats that no record names, and questions that came up.',
      section('What was asked for', bullets(core.feedback_hooks ?? [])),
      records(core, 'The records behind the run', ['expectation', 'strategy', 'tradeoff']),
      tradeoffs(core),
      questions(core),
    ),
}

/** The same artifact may run with either throttle; the run request says which applies. */
function throttled({ throttle }: BriefCore): string {
  return throttle === 'full'
    ? 'The brief was written for real changes. If this run is a dry run, only describe each change; do not make it.'
    : 'The brief was written for a dry run. If this run is one, only describe each change; do not make it.'
}

function objective({ mission }: BriefCore): string {
  return section('Objective', paragraphs(mission.objective))
}

/** Each record that has text under one of these heads, with that text. */
function records(core: BriefCore, title: string, members: readonly string[]): string {
  const items = core.source_intent.map((record) => {
    const said = members.flatMap((member) => {
      const text = textOf((record as Record<string, unknown>)[member])
      return text === '' ? [] : [`${member}: ${text}`]
    })
    return [named(record), ...said].join('\n')
  })
  return section(title, bullets(items))
}

function capabilities(core: BriefCore): string {
  return section('Capabilities that must hold', protectedWith(core, 'capability'))
}

function threats(core: BriefCore): string {
  return section('Threats to watch', bullets(core.threats_to_watch ?? []), recordTexts(core, 'threat'))
}

function tradeoffs(core: BriefCore): string {
  return section('Tradeoffs', bullets(core.tradeoffs ?? []), recordTexts(core, 'tradeoff'))
}

function done(core: BriefCore): string {
  return section('Done when', bullets(core.mission.definition_of_done ?? []))
}

function scope(core: BriefCore, title: string): string {
  const paths = core.source_intent.flatMap((record) => {
    const { scope: where } = record as { scope?: { paths?: unknown } }
    return textsOf(where?.paths).map((path) => `\`${path.replaceAll('`', "'")}\` (${named(record)})`)
  })
  const { repo } = core
  const place = (['path', 'branch', 'revision'] as const).flatMap((member) => {
    const text = repo?.[member]
    return text === undefined ? [] : [`${member === 'path' ? 'repository' : member} ${text}`]
  })
  const where = place.length === 0 ? [] : [place.join(', ')]
  return section(title, bullets([...where, ...paths]))
}

function evidence(core: BriefCore, title: string): string {
  const { evidence_plan: plan } = core
  const planned = [
    ...(plan?.required ?? []).map((text) => `required: ${text}`),
    ...(plan?.suggested ?? []).map((text) => `suggested: ${text}`),
  ]
  const ofRecords = core.source_intent.flatMap((record) =>
    objectsOf((record as Record<string, unknown>).evidence).map((one) => {
      const how = [one.evidence_type, one.gate_name, one.command].map(textOf).filter((text) => text !== '')
      const need = one.required === false ? 'suggested' : 'required'
      return `${need}: [${textOf(one.id)}] ${textOf(one.description)}${how.length === 0 ? '' : ` (${how.join('; ')})`}`
    }),
  )
  return section(title, bullets([...planned, ...ofRecords]))
}

function gates(core: BriefCore): string {
  const items = objectsOf((core.gate_overlay as Record<string, unknown> | undefined)?.gates).map((gate) => {
    const command = textOf(gate.command)
    const required = gate.required === false ? 'not required' : 'required'
    return `${textOf(gate.name)}${command === '' ? '' : `: \`${command.replaceAll('`', "'")}\``} (${required})`
  })
  return section('Gates', bullets(items))
}

function controls(core: BriefCore): string {
  const { engine_controls: asked } = core
  if (asked === undefined) return ''
  const items = [
    ...(asked.max_iterations === undefined ? [] : [`at most ${asked.max_iterations} iterations`]),
    ...(asked.commit_allowed === undefined ? [] : [`commits are ${asked.commit_allowed ? '' : 'not '}allowed`]),
    ...(asked.push_allowed === undefined ? [] : [`pushes are ${asked.push_allowed ? '' : 'not '}allowed`]),
    ...(asked.gate_profile === undefined ? [] : [`gate profile ${asked.gate_profile}`]),
  ]
  return section('Controls', bullets(items))
}

function questions(core: BriefCore): string {
  const given = core.relevant_intent as { known_conflicts?: unknown; open_questions?: unknown } | undefined
  const conflicts = textsOf(given?.known_conflicts).map((text) => `known conflict: ${text}`)
  return section('Open questions', bullets([...conflicts, ...textsOf(given?.open_questions)]))
}

/** What the records quote from elsewhere. */
function quotes(core: BriefCore): string {
  const texts = core.source_intent.flatMap((record) =>
    objectsOf((record as Record<string, unknown>).sources)
      .map((source) => ({
        origin: `${textOf(source.source_type)} ${textOf(source.source_ref)}`,
        text: quoteOf(source),
      }))
      .filter(({ text }) => text !== '')
      .slice(0, QUOTES_A_RECORD_MAX)
      .map(({ origin, text }) => `For ${record.id}:\n\n${fenced(text, origin)}\n`),
  )
  return section('Quoted sources', texts.join('\n'))
}

/** What machines reported about the drift that the brief is to repair. */
function drifted({ relevant_intent }: BriefCore): string {
  const { drift } = (relevant_intent ?? {}) as { drift?: { because?: unknown } }
  const reports = objectsOf(drift?.because).slice(0, QUOTES_A_RECORD_MAX)
  const texts = reports.map((one) => `${fenced(JSON.stringify(one, null, 2), 'observation of the drift')}\n`)
  return section('What was observed', texts.join('\n'))
}

function quoteOf({ excerpt, summary }: Readonly<Record<string, unknown>>): string {
  return [textOf(excerpt), textOf(summary)].filter((text) => text !== '').join('\n')
}
