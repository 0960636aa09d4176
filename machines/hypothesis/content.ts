/** The content of an accepted hypothesis' record: the hypothesis' words, overridden by the reviewer's edits. */
import { clipped } from '../clipped.ts'
import { type IntentRecordEdit, TITLE_LENGTH_MAX } from '../documents/intent-record.ts'
import type { ContentGiven } from '../intent-record/context.ts'
import { linesOf, visible } from '../untrusted-text.ts'
import type { HypothesisContext } from './context.ts'

const QUOTE_CHARS_MAX = 1_000
const REVISION_CHARS_MAX = 100

type Judgement = Pick<ContentGiven, 'capability' | 'threat' | 'expectation' | 'strategy'>

/** The source names the discovery, so that quotes from the repository stay labelled as such. */
export function contentOfHypothesis(context: HypothesisContext, edits: Omit<IntentRecordEdit, 'slug'>): ContentGiven {
  const { says } = context
  return {
    title: titleOf(says),
    ...judgementOf(says.possible_intent),
    confidence: says.confidence,
    sources: [sourceOf(context)],
    ...edits,
  }
}

function judgementOf(possible: HypothesisContext['says']['possible_intent']): Judgement {
  return Object.fromEntries(Object.entries(possible).filter(([, words]) => words !== ''))
}

/** Its first non-empty text, on one line. */
function titleOf({ title, possible_intent, key }: HypothesisContext['says']): string {
  const { capability, expectation, strategy, threat } = possible_intent
  const said = [title, capability, expectation, strategy, threat].find(
    (words) => words !== undefined && words.trim() !== '',
  )
  const line = linesOf(said?.trim() ?? `Hypothesis ${key}`)[0]!
  return clipped(visible(line), TITLE_LENGTH_MAX)
}

function sourceOf({ says, discovery_id, revision, files, created_at }: HypothesisContext) {
  const seen = (says.observed ?? []).join('; ')
  const at = revision === undefined ? '' : `@${clipped(revision, REVISION_CHARS_MAX)}`
  return {
    source_type: 'code_observation' as const,
    source_ref: `${discovery_id}${at}`,
    ...(files.length === 0 ? {} : { summary: clipped(files.join(', '), QUOTE_CHARS_MAX) }),
    ...(seen === '' ? {} : { excerpt: clipped(seen, QUOTE_CHARS_MAX) }),
    confidence: says.confidence,
    created_at,
  }
}
