/**
 * People who state what the project means while the service dies under them: each inspection is posted until it is
 * answered, its hypothesis is accepted by two people who do not know of each other while somebody else wants the same
 * slug, and each record supersedes the one before it. In the end every link must lead both ways, and nothing be there
 * twice.
 */
import { insist, type Load } from './actors.ts'

export interface Reviewed {
  /** The record made of a hypothesis, as answered. */
  readonly accepted: Map<string, string>
  /** The record that superseded another, as answered. */
  readonly superseded: Map<string, string>
}

const EXPECTED = new Set([200, 201, 409])

export async function reviewer(load: Load, name: string, reviewed: Reviewed): Promise<void> {
  let before: string | undefined
  const post = async (path: string, body: object, headers: Record<string, string> = {}): Promise<any> => {
    const heard = await insist(load, { method: 'POST', body, headers }, path)
    if (heard === undefined || EXPECTED.has(heard.status)) return heard
    load.memory.faults.push(`${path} was answered ${heard.status} ${JSON.stringify(heard.body)}`)
    return undefined
  }
  for (let number = 0; !load.closing(); number++) {
    const key = `${name}-${number}`
    const hypothesis = { key, title: key, confidence: 0.5, based_on: ['o'], possible_intent: {} }
    const inspection = { observations: [{ ref: 'o', summary: key }], hypotheses: [hypothesis] }
    const discovery = await post(`/projects/${load.project}/discoveries`, inspection)
    if (discovery === undefined) return
    const { hypothesis_id: id } = discovery.body.hypotheses[0]
    // Each repeats the same until it is answered: the winner is answered 200 every time.
    const [first, second] = await Promise.all([
      post(`/hypotheses/${id}/accept`, {}),
      post(`/hypotheses/${id}/accept`, { record: { capability: 'edited' } }),
      post(`/projects/${load.project}/intent-records`, { title: 'Mine', slug: key }, { 'idempotency-key': key }),
    ])
    if (first === undefined || second === undefined) return
    const won = [first, second].filter(({ status }) => status === 200)
    if (won.length !== 1) load.memory.faults.push(`${id} was accepted ${won.length} times`)
    const record = won[0]?.body.intent_record.id
    reviewed.accepted.set(id, record)
    if (before !== undefined) {
      const answer = await post(`/api/intent-records/${before}/supersede`, { replacement: record })
      if (answer === undefined) return
      reviewed.superseded.set(before, record)
    }
    before = record
  }
}

/** What is inconsistent with the answers. */
export async function intentHoldsTogether(load: Load, reviewed: Reviewed): Promise<string[]> {
  const read = async (path: string): Promise<any> => (await insist(load, { method: 'GET' }, path))?.body
  const faults: string[] = []
  const check = await read(`/api/projects/${load.project}/intent-check`)
  for (const { level, code, detail, key } of check.findings)
    if (level === 'error') faults.push(`${key ?? ''} ${code}: ${detail}`)
  const made = new Map<string, string[]>()
  for (let query = ''; ; ) {
    const page = await read(`/projects/${load.project}/intent-records?limit=500${query}`)
    for (const { id, hypothesis_id } of page.items)
      if (hypothesis_id !== undefined) made.set(hypothesis_id, [...(made.get(hypothesis_id) ?? []), id])
    if (page.next_cursor === undefined) break
    query = `&cursor=${page.next_cursor}`
  }
  for (const [hypothesis, record] of reviewed.accepted) {
    const records = made.get(hypothesis) ?? []
    if (records.length !== 1 || records[0] !== record)
      faults.push(`${hypothesis} was answered to be ${record}; its records are ${records.join(', ') || 'none'}`)
  }
  for (const [old, heir] of reviewed.superseded) {
    const { state, superseded_by } = await read(`/api/intent-records/${old}`)
    const { supersedes } = await read(`/api/intent-records/${heir}`)
    if (state !== 'superseded' || superseded_by !== heir)
      faults.push(`${old} is ${state}, by ${superseded_by}, not ${heir}`)
    if (!supersedes.includes(old)) faults.push(`${heir} does not say that it took the place of ${old}`)
  }
  return faults
}
