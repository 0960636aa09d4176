import t from 'tap'
import { rootOf } from '../../engine/errors.ts'
import { errorFields } from '../../http/error-fields.ts'

const message = (error: Error): string => (errorFields(error) as { message: string }).message

t.test('a log line says each cause once, whether or not the outer message repeats it', async (t) => {
  const full = new Error('ENOSPC: no space left')
  t.equal(message(full), 'ENOSPC: no space left')
  t.equal(
    message(new Error('the log cannot be written', { cause: full })),
    `the log cannot be written: ${full.message}`,
  )
  const repeated = new Error(`the log cannot be written: ${full.message}`, { cause: full })
  t.equal(message(repeated), 'the log cannot be written: ENOSPC: no space left')
  t.equal(
    message(new Error(`commit failed (${repeated.message})`, { cause: repeated })),
    'commit failed (the log cannot be written: ENOSPC: no space left)',
  )
  const deep = new Error('commit failed: the view', { cause: new Error('the view', { cause: full }) })
  t.equal(message(deep), 'commit failed: the view: ENOSPC: no space left')
  t.match(errorFields(Object.assign(repeated, { code: 'x' })), { type: 'Error', code: 'x', stack: /caused by/ })
})

t.test('an error that is its own cause, directly or not, is told and ends', async (t) => {
  const own = new Error('it failed')
  own.cause = own
  t.equal(message(own), 'it failed')
  const [first, second] = [new Error('first'), new Error('second')]
  first.cause = second
  second.cause = first
  t.equal(message(first), 'first: second')
  t.match(errorFields(first), { type: 'Error', stack: /causes have become circular/ })
  const all = new AggregateError([], 'all failed')
  all.errors.push(all)
  t.match(errorFields(all), { type: 'AggregateError', message: 'all failed', stack: /error-fields/ })
  let deep = new Error('0')
  for (let n = 1; n < 100_000; n++) deep = new Error(`${n}`, { cause: deep })
  t.match(message(deep), /^99999: 99998: .*: 99979$/)
  for (const error of [own, first, all, deep]) t.ok(rootOf(error) instanceof Error)
})
