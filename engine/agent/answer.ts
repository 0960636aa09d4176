/** Extracts an agent's decision or question from its free-text answer. */
import { endOf } from './tail.ts'

/** How much of the end of an answer is searched, in characters. */
const ANSWER_CHARS = 64_000

/**
 * The last decision in the answer, in the form of `docs/CAMPAIGNS.md` and `docs/INITIATIVES.md`; undefined if there is
 * none.
 */
export function decisionIn(answer: string): unknown {
  const said = objectIn(endOf(answer, ANSWER_CHARS), 'decision')?.said
  return typeof said?.decision === 'object' ? said.decision : said
}

interface Question {
  readonly finding: string
  readonly options: string[]
}

/** The question for a person that ends the answer; undefined if there is none. */
export function questionIn(answer: string): Question | undefined {
  const found = objectIn(endOf(answer, ANSWER_CHARS), 'question')
  if (found === undefined || !/^[\s`]*$/.test(found.behind)) return undefined
  const { question, options } = found.said
  if (typeof question !== 'string' || question.trim() === '') return undefined
  return { finding: question, options: Array.isArray(options) ? options.filter((one) => typeof one === 'string') : [] }
}

interface Found {
  readonly said: Record<string, unknown>
  /** The text after it. */
  readonly behind: string
}

/** The last JSON object with this member, whatever text surrounds it. */
function objectIn(answer: string, member: string): Found | undefined {
  let last: Found | undefined
  for (let from = answer.indexOf('{'); from !== -1; from = answer.indexOf('{', from + 1)) {
    const end = endOfObject(answer, from)
    try {
      const said = JSON.parse(answer.slice(from, end))
      if (said[member] === undefined) continue
      last = { said, behind: answer.slice(end) }
      from = end - 1
    } catch {}
  }
  return last
}

/** Index after the brace that closes the one at `from`, or `from` if none does; braces in strings do not count. */
function endOfObject(text: string, from: number): number {
  const tokens = /"(?:[^"\\]|\\.)*"|[{}]/g
  tokens.lastIndex = from
  let depth = 0
  for (let token = tokens.exec(text); token !== null; token = tokens.exec(text)) {
    if (token[0] === '{') depth += 1
    if (token[0] === '}') depth -= 1
    if (depth === 0) return tokens.lastIndex
  }
  return from
}
