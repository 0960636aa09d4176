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
export const TEMPLATE_VERSION = '3'

type View = (core: BriefCore) => string

const QUOTES_A_RECORD_MAX = 5

export const PHASE_VIEWS: Readonly<Record<PromptPhase, View>> = {
  assessment: (core) =>
    document(
      '# Assessment',
      `Assess the code against the intent below. You change nothing. Report only what bears on a capability or a threat that is named here, each point with the place in the code that shows it. General criticism, style and praise are not asked for.`,
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
      'Decide which findings of the assessment are worth acting upon. You change nothing. Take a finding only if all of these hold:',
      bullets([
        'it threatens a capability that is named below;',
        'it is still plausible after you have looked at the code again;',
        'acting on it can leave evidence of the kinds below;',
        'it is worth what the tradeoffs allow to be given up.',
      ]),
      'Reject the others, each with the reason in one line. Where a finding shows that two records contradict each other, or that a record contradicts the code on purpose, do not choose: hand it on as a contradiction.',
      capabilities(core),
      threats(core),
      tradeoffs(core),
      evidence(core, 'Evidence that a finding must be able to leave'),
      questions(core),
    ),

  planning: (core) =>
    document(
      '# Planning',
      'Plan the work. You change nothing yet. Make small steps, each of which can be taken back alone. Of each step say: the intent record that it serves, by its id; the files it touches; the evidence it leaves; the gates it must pass. Anything that no record asks for is left out.',
      objective(core),
      done(core),
      records(core, 'Intent records that a step may serve', ['capability', 'expectation', 'strategy']),
      scope(core, 'Files in scope'),
      section('Preferred moves', bullets(core.strategies_to_prefer ?? []), recordTexts(core, 'strategy')),
      section('Suspicious moves', bullets([...(core.threats_to_watch ?? []), ...(core.forbidden_moves ?? [])])),
      evidence(core, 'Evidence that is required'),
      gates(core),
      drifted(core),
      quotes(core),
      section(
        'What stops the run',
        bullets([...(core.mission.stop_conditions ?? []), 'the intent is ambiguous where a step depends on it']),
      ),
      questions(core),
    ),

  execution: (core) =>
    document(
      '# Execution',
      `Carry out the plan, exactly within the objective and the scope below. ${throttled(core)}`,
      objective(core),
      done(core),
      scope(core, 'Scope'),
      section('Boundaries to protect', protectedWith(core, 'capability')),
      section('Not to be done', bullets(core.forbidden_moves ?? [])),
      section(
        'Not to be weakened',
        bullets([
          'no test, gate, check or assertion is deleted, skipped or loosened to make it pass',
          'no evidence of another change is removed',
        ]),
      ),
      evidence(core, 'Evidence to leave'),
      gates(core),
      controls(core),
      section('Stop at once when', bullets(core.mission.stop_conditions ?? [])),
    ),

  retry: (core) =>
    document(
      '# Retry',
      'A gate has failed after the execution. Its output, and what was tried, stand in the failure context that comes with this prompt. Say first which gate failed and which evidence is missing; then repair that, and nothing else.',
      throttled(core),
      section(
        'Limits of this attempt',
        bullets([
          'the scope does not grow: no file that the plan did not name',
          'what was tried before is not tried again unchanged',
          'if the intent is wrong, and not the code, stop and say so: no code is bent to meet it',
          'no test, gate, check or assertion is deleted, skipped or loosened to make it pass',
        ]),
      ),
      objective(core),
      section('Boundaries to protect', protectedWith(core)),
      evidence(core, 'Evidence that is still owed'),
      gates(core),
      section('Not to be done', bullets(core.forbidden_moves ?? [])),
      section('Stop at once when', bullets(core.mission.stop_conditions ?? [])),
    ),

  summarization: (core) =>
    document(
      '# Summary',
      'Sum the run up against the intent. You change nothing. State only what the trace and the evidence show; what was not looked at is said to be unknown.',
      section(
        'Say of each',
        bullets([
          'capability: kept, harmed or unknown, with the evidence for it',
          'threat: seen or not seen, and where',
          'required evidence: left or missing, by its id where it has one',
          'gate: passed, failed or not run',
          'record that the run contradicts, with what contradicts it',
          'question that a person should answer',
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
      'Review what was done, as somebody who did not do it and does not believe it. You change nothing. Look for harm to what is protected, for evidence that does not show what it claims, and for changes that no record asked for.',
      objective(core),
      done(core),
      section('What must still hold', protectedWith(core, 'expectation')),
      threats(core),
      section('Must not have been done', bullets(core.forbidden_moves ?? [])),
      evidence(core, 'Evidence that must be there'),
      gates(core),
    ),

  intent_feedback: (core) =>
    document(
      '# Feedback on the intent',
      'Say what the run taught about the intent itself. You change nothing, and you change no record: a person decides. Propose, each with the observation behind it: records that were contradicted, expectations that were not met, strategies that worked or failed, threats that nobody had named, questions that came up.',
      section('What was asked for', bullets(core.feedback_hooks ?? [])),
      records(core, 'The records behind the run', ['expectation', 'strategy', 'tradeoff']),
      tradeoffs(core),
      questions(core),
    ),
}

/** The same artifact may run with either throttle; the run request says which applies. */
function throttled({ throttle }: BriefCore): string {
  return throttle === 'full'
    ? 'The brief was written for changes that are made for real: where the run is a dry run, every change is only simulated and described.'
    : 'The brief was written for a dry run: where the run is one, every change is only simulated and described.'
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
    ...(asked.commit_allowed === undefined ? [] : [`committing is ${asked.commit_allowed ? '' : 'not '}allowed`]),
    ...(asked.push_allowed === undefined ? [] : [`pushing is ${asked.push_allowed ? '' : 'not '}allowed`]),
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
  const texts = reports.map((one) => `${fenced(JSON.stringify(one, null, 2), 'an observation of the drift')}\n`)
  return section('What was observed', texts.join('\n'))
}

function quoteOf({ excerpt, summary }: Readonly<Record<string, unknown>>): string {
  return [textOf(excerpt), textOf(summary)].filter((text) => text !== '').join('\n')
}
