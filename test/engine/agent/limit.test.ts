import t from 'tap'
import { type Ended, limitIn } from '../../../engine/agent/limit.ts'
import { endIn } from '../../../engine/agent/limit-end.ts'
import { git, place, run, said, task } from './place.ts'

const NOW = Date.parse('2026-01-31T12:00:00Z')
const failed = (complained: string, printed = ''): Ended => ({ code: 1, printed, complained })

/** What agents print, from public reports; when each ends, as far as it says so. */
const PRINTED: readonly [source: string, text: string, code: string, end?: string][] = [
  [
    'anthropics/claude-code#9046',
    'Claude AI usage limit reached|1769871600',
    'usage_limit',
    '2026-01-31T15:00:00.000Z',
  ],
  ['anthropics/claude-code#6392', '5-hour limit reached ∙ resets 5pm (UTC)', 'usage_limit', '2026-01-31T17:00:00.000Z'],
  [
    'anthropics/claude-code#15064',
    'Claude usage limit reached. Your limit will reset at 9am (America/Chicago).',
    'usage_limit',
    '2026-01-31T15:00:00.000Z',
  ],
  [
    'anthropics/claude-code#74079',
    "You've hit your session limit · resets 12:50am (America/Los_Angeles)",
    'usage_limit',
    '2026-02-01T08:50:00.000Z',
  ],
  [
    'anthropics/claude-code#52575',
    "You've hit your limit · resets 4:50pm (Europe/Rome)",
    'usage_limit',
    '2026-01-31T15:50:00.000Z',
  ],
  [
    'anthropics/claude-code#3633',
    'API Error (529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}})',
    'provider_unavailable',
  ],
  [
    'openai/codex#3899',
    "■ You've hit your usage limit. Upgrade to Pro (https://openai.com/chatgpt/pricing) or try again in 5 days 22 hours 11\nminutes.",
    'usage_limit',
    '2026-02-06T10:11:00.000Z',
  ],
  [
    'openai/codex#46937',
    "Error running remote compact task: You've hit your usage limit. Visit https://chatgpt.com/codex/settings/usage to purchase more credits or try again at Feb\n3rd, 2026 2:14 AM.",
    'usage_limit',
    new Date(2026, 1, 3, 2, 14).toISOString(),
  ],
  [
    'google-gemini/gemini-cli#14811',
    '✕ [API Error: [{\n "error": {\n "code": 429,\n "message": "Resource exhausted. Please try again later.",\n "status": "RESOURCE_EXHAUSTED"\n }\n }\n ]]',
    'usage_limit',
  ],
  ['Aider-AI/aider#957', 'litellm.InternalServerError: AnthropicException - Overloaded.', 'provider_unavailable'],
  ['anomalyco/opencode#2398', 'AI_RetryError: Failed after 4 attempts. Last error: Too Many Requests', 'usage_limit'],
  [
    'anomalyco/opencode#47747',
    'Error: OpenAI API error (429): {"code":"rate_limit_exceeded","message":"Rate limit exceeded."}',
    'usage_limit',
  ],
]

t.test('what common agents print at a limit is recognized, with its end', async (t) => {
  for (const [source, text, code, end] of PRINTED) {
    for (const ended of [failed(text), failed('', `Reading files\n${text}`)]) {
      const limit = limitIn(ended, undefined, NOW)
      t.match(limit, { code, retry_after: end }, source)
      t.ok(text.includes(limit?.message ?? 'nothing'), `${source}: in its own words`)
    }
  }
})

t.test('an agent that works on limits and writes about them is not limited', async (t) => {
  const report =
    'I made the client wait when the API answers 429 Too Many Requests, and added rate_limit_error to the tests.'
  t.equal(limitIn({ code: 0, printed: report, complained: '' }, undefined, NOW), undefined)
  const long = `${"The banner now says: You've hit your usage limit.\n".repeat(5)}All tests pass.`
  t.equal(limitIn({ code: 0, printed: long, complained: '' }, undefined, NOW), undefined)
  const early = `You've hit your usage limit\n${'ok 1 - a test\n'.repeat(40)}assertion failed`
  t.equal(limitIn(failed(early, early), undefined, NOW), undefined, 'only the end counts')
  t.equal(limitIn(failed('error: expected 429 to equal 200'), undefined, NOW), undefined)
  t.equal(limitIn(failed('Usage: agent [--limit N]'), undefined, NOW), undefined)
})

t.test('an agent that ends with success and says nothing else than that it is limited, is', async (t) => {
  const printed = '5-hour limit reached ∙ resets 3pm (UTC)'
  t.match(limitIn({ code: 0, printed, complained: '' }, undefined, NOW), { retry_after: '2026-01-31T15:00:00.000Z' })
})

t.test('exit code 75 says so, and the last line until when', async (t) => {
  const ended = (printed: string) => limitIn({ code: 75, printed, complained: '' }, undefined, NOW)
  t.same(ended('no credit\n{"retry_after": 90}'), {
    code: 'provider_unavailable',
    message: 'no credit',
    retry_after: '2026-01-31T12:01:30.000Z',
  })
  t.match(ended('{"retry_after": "2026-01-31T13:00:00Z"}'), { retry_after: '2026-01-31T13:00:00.000Z' })
  for (const odd of ['', '{"retry_after": {}}', '{"retry_after": 1e300}', 'null', '[]'])
    t.match(ended(odd), { code: 'provider_unavailable', retry_after: undefined }, odd)
})

t.test('a pattern of the user finds the words of another agent, and its group the end', async (t) => {
  const at = (text: string) => limitIn(failed(text), /credits? used up(?:, back (?:in|at) (.+))?/i, NOW)
  t.match(at('Credits used up'), { code: 'usage_limit', message: 'Credits used up', retry_after: undefined })
  t.match(at('Credit used up, back in 2h 30m'), { retry_after: '2026-01-31T14:30:00.000Z' })
  t.match(at('Credit used up, back at 2:15 pm (UTC)'), { retry_after: '2026-01-31T14:15:00.000Z' })
})

t.test('ends are read from words, and nonsense is none', async (t) => {
  const read = (text: string) => {
    const ms = endIn(text, NOW)
    return ms === undefined ? undefined : new Date(ms).toISOString()
  }
  t.equal(read('Retry-After: 30'), '2026-01-31T12:00:30.000Z')
  t.equal(read('"retryDelay": "34s"'), '2026-01-31T12:00:34.000Z')
  t.equal(read('Please retry in 34.5s.'), '2026-01-31T12:00:34.500Z')
  t.equal(read('try again in 3 hours 12 minutes'), '2026-01-31T15:12:00.000Z')
  t.equal(read('resets 3pm (Europe/Berlin)'), '2026-01-31T14:00:00.000Z')
  t.equal(read('resets 15:30 (UTC)'), '2026-01-31T15:30:00.000Z')
  t.equal(read('resets 11:30am (UTC)'), '2026-01-31T11:30:00.000Z', 'just past: it has come')
  t.equal(read('resets 9am (UTC)'), '2026-02-01T09:00:00.000Z', 'of the next day')
  t.equal(read('resets Feb 6, 1pm (UTC)'), '2026-02-06T13:00:00.000Z')
  t.equal(read('resets Jan 6, 1pm (UTC)'), '2027-01-06T13:00:00.000Z')
  t.equal(read('resets at 2026-01-31T18:00:00Z'), '2026-01-31T18:00:00.000Z')
  // The clocks go forward that night.
  t.equal(
    endIn('resets 3:30am (Europe/Berlin)', Date.parse('2026-03-28T23:30:00Z')),
    Date.parse('2026-03-29T01:30:00Z'),
  )
  for (const text of ['', 'resets soon', 'resets 25:99', 'resets 3pm (Nowhere/Land)', 'try again', 'resets Foo 3, 1pm'])
    t.equal(read(text), undefined, text)
})

t.test('a task whose agent meets a limit fails its run, with what was done kept on its branch', async (t) => {
  const at = place(t)
  const agent = 'echo half > half; echo "5-hour limit reached ∙ resets 2099-01-31T15:00:00Z"; exit 1'
  const done = await run(at, task(), { AGENT: agent, GATE: 'true' })
  t.equal(done.code, 1)
  const [told] = said(t, done, 'task_run_completed')
  const retry_after = '2099-01-31T15:00:00.000Z'
  const outage = { failure_class: 'execution', failure_code: 'usage_limit', retry_after }
  t.match(told, {
    verdict: 'runner_error',
    detail: /^5-hour limit reached/,
    preservation_ref: 'intendant/runreq_1-1',
    ...outage,
  })
  t.match(said(t, done, 'agent_session_ended'), [{ status: 'unavailable', error: /^5-hour limit/, exit_code: 1 }])
  const failure = { class: 'execution', code: 'usage_limit', message: /^5-hour limit reached/ }
  t.match(done.lines.at(-1), { failure, retry_after, preservation_ref: 'intendant/runreq_1-1' })
  t.equal(git(at.repository, 'show', 'intendant/runreq_1-1:half'), 'half')

  const other = await run(
    at,
    { ...task(), attempt: 2 },
    { AGENT: 'echo no credits; exit 3', AGENT_LIMIT: 'NO credits' },
  )
  t.match(other.lines.at(-1), { failure: { class: 'dispatch', code: 'usage_limit', message: 'no credits' } })
  const wrong = await run(at, task(), { AGENT: 'true', AGENT_LIMIT: '(' })
  t.match(wrong.lines, [{ failure: { class: 'dispatch', code: 'not_configured', message: /AGENT_LIMIT/ } }])
})
